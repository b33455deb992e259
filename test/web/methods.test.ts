import request from 'supertest';
import { describe, expect, test } from 'vitest';
import { testApp } from './support/app.ts';
import { READ_PATHS } from './support/paths.ts';

describe('HEAD', () => {
  test.each(READ_PATHS)('%s answers as GET does, without a body', async (path) => {
    const { app } = testApp();
    const get = await request(app).get(path);
    const head = await request(app).head(path);
    expect([get.status, head.status]).toEqual([200, 200]);
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
    expect(head.text).toBeFalsy();
  });
});
