#!/usr/bin/env node
import process from 'node:process';
import { runProgram, buildProgram } from './cli/program.ts';

process.exitCode = await runProgram(buildProgram(), process.argv.slice(2));
