/** Why the service does not answer a field; the rest of the document is answered all the same. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The GraphQL library copies these into the answer. */
  readonly extensions: Readonly<Record<string, string>>;

  constructor(message: string, extensions: Readonly<Record<string, string>>) {
    super(message);
    this.extensions = extensions;
  }
}

export function invalidInput(message: string): ServiceError {
  return new ServiceError(message, { errorClass: 'INVALID_INPUT' });
}
