import type { Request, Response } from 'express';

/** What answers a path. Ends the answer before it resolves, or as soon as the client takes it. */
export type Handler = (request: Request, response: Response) => void | Promise<void>;
