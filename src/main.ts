#!/usr/bin/env node
import process from 'node:process';
import { runProgram } from './cli/process/runProgram.ts';
import { buildProgram } from './cli/program.ts';

process.exitCode = await runProgram(buildProgram(), process.argv.slice(2));
