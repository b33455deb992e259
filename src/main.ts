#!/usr/bin/env node
import process from 'node:process';
import { buildProgram, runProgram, startsDaemon } from './cli/program.ts';

const args = process.argv.slice(2);
const tools = startsDaemon(args) ? [] : (await import('./tools/commands.ts')).toolCommands();
process.exitCode = await runProgram(buildProgram(tools), args);
