import { describe, expect, it } from 'vitest';
import { addLabel } from '../../../src/tools/backfill/backfillFlags.ts';

describe('addLabel', () => {
  it('adds a label to earlier labels, and splits at the first equals sign', () => {
    expect(addLabel('instance=a=b', addLabel('job=newrelic', {}))).toEqual({ job: 'newrelic', instance: 'a=b' });
  });

  it('accepts any name that neither we nor Prometheus use', () => {
    expect(addLabel('cluster=eu-1', { job: 'newrelic' })).toEqual({ job: 'newrelic', cluster: 'eu-1' });
  });

  it.each(['job', 'job=', '=x', '1a=x', 'a-b=x', '__name__=x'])('refuses %s', (text) => {
    expect(() => addLabel(text, {})).toThrow('name=value');
  });

  it.each(['app=x', 'component=x', 'le=1'])('refuses %s, which would hide a label of ours', (text) => {
    expect(() => addLabel(text, {})).toThrow('The exporter itself sets the label');
  });

  it('refuses a label that is given twice', () => {
    expect(() => addLabel('job=b', { job: 'a' })).toThrow('twice');
  });
});
