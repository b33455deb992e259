#!/usr/bin/env node
import process from 'node:process';
import { holdSignals } from './cli/signals.ts';

// Holds signals before the other imports: a service manager may send a signal while the program loads.
holdSignals();
const { buildProgram, runProgram, startsDaemon } = await import('./cli/program.ts');
const args = process.argv.slice(2);
const tools = startsDaemon(args) ? [] : (await import('./tools/commands.ts')).toolCommands();
const status = await runProgram(buildProgram(tools), args);
if (status !== undefined) (await import('./cli/ending.ts')).endSoon(status);
