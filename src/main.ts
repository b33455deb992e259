#!/usr/bin/env node
import process from 'node:process';
import { holdSignals } from './cli/signals.ts';

// Nothing else is imported before: loading the program takes longer than a service manager waits before it sends a signal.
holdSignals();
const { buildProgram, runProgram, startsDaemon } = await import('./cli/program.ts');
const args = process.argv.slice(2);
const tools = startsDaemon(args) ? [] : (await import('./tools/commands.ts')).toolCommands();
const status = await runProgram(buildProgram(tools), args);
if (status !== undefined) (await import('./cli/ending.ts')).endSoon(status);
