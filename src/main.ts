#!/usr/bin/env node
import process from 'node:process';
import { keepBodiesYoung } from './cli/garbage.ts';
import { buildProgram, runProgram } from './cli/program.ts';

keepBodiesYoung();
process.exitCode = await runProgram(buildProgram(), process.argv.slice(2));
