/** A command has ended with this exit status; the message for the user is already printed. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}
