#!/usr/bin/env node
import process from 'node:process';
import { collectGarbageEarly } from './cli/garbage.ts';
import { buildProgram, runProgram } from './cli/program.ts';

collectGarbageEarly();
process.exitCode = await runProgram(buildProgram(), process.argv.slice(2));
