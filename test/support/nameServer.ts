import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

/** The addresses of names, IPv4 and IPv6 alike. */
export type Records = Readonly<Record<string, readonly string[]>>;

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;
/** A response without error, to a question that asked for recursion. */
const RESPONSE_FLAGS = 0x8180;
const NO_SUCH_NAME = 3;

/** Answers questions for A and AAAA records over UDP (RFC 1035) until it is closed. */
export async function startNameServer(records: Records, address: string, port: number): Promise<{ close: () => void }> {
  const socket = createSocket('udp4');
  socket.on('message', (question, sender) => socket.send(answer(question, records), sender.port, sender.address));
  socket.bind(port, address);
  await once(socket, 'listening');
  return { close: () => void socket.close() };
}

function answer(question: Buffer, records: Records): Buffer {
  const labels: string[] = [];
  let offset = HEADER_BYTES;
  for (let length = question[offset] ?? 0; length > 0; length = question[offset] ?? 0) {
    labels.push(question.toString('ascii', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  const type = question.readUInt16BE(offset + 1);
  const addresses = records[labels.join('.').toLowerCase()];
  const answers = (addresses ?? [])
    .filter((each) => type === (isIPv4(each) ? TYPE_A : TYPE_AAAA))
    .map((each) => record(type, addressBytes(each)));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(question.readUInt16BE(0), 0);
  header.writeUInt16BE(RESPONSE_FLAGS | (addresses === undefined ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, question.subarray(HEADER_BYTES, offset + 5), ...answers]);
}

/** A record of the name in the question, which a pointer to its place stands for; valid for a second. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 1, 0, data.length]);
  return Buffer.concat([head, data]);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
