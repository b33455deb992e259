import { connect } from 'node:net';

/**
 * Sends bytes as they are and gives what comes back until the connection closes (at most `limitMs`); `ends`: our end of the stream is
 * sent, too.
 */
export async function sendRaw(
  port: number,
  bytes: string | Buffer,
  limitMs = 60_000,
  ends = false,
): Promise<{ readonly text: string; readonly timedOut: boolean }> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: ends }, () => {
      if (ends) socket.end(bytes);
      else socket.write(bytes);
    });
    const end = (timedOut: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: Buffer.concat(chunks).toString('latin1'), timedOut });
    };
    const timer = setTimeout(() => end(true), limitMs);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('close', () => end(false));
    socket.on('error', () => end(false));
  });
}
