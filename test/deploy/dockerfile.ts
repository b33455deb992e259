/** One instruction of a Dockerfile, with its continuation lines joined. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions by stage; `FROM` is the first of each. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const joined = dockerfile.replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, ' ');
  const instructions = joined
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...rest] = line.trim().split(' ');
      return { name, text: rest.join(' ').trim() };
    });
  const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []));
  return starts.map((start, index) => instructions.slice(start, starts[index + 1]));
}

/** The words of an instruction in exec form; throws when it is in shell form. */
export function execForm(text: string): string[] {
  const words: unknown = JSON.parse(text.replace(/^.*?(?=\[)/s, ''));
  if (!Array.isArray(words)) throw new Error(`not in exec form: ${text}`);
  return words.map(String);
}
