import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AnswersMeasurement } from './answersCase.ts';
import { listening, startExporter } from './exporter.ts';
import { fleetCost } from './fleetCost.ts';
import { libraryPeakMegabytes } from './memory.ts';
import { end, measured, PROJECT, startUpstream } from './processes.ts';
import type { Aim, Row } from './rows.ts';
