import request from 'supertest';
import { describe, expect, test } from 'vitest';
import { testApp } from './support/app.ts';

const PATHS = ['/', '/metrics', '/sd', '/api/status', '/config', '/-/healthy', '/-/ready'];

describe('the methods of every path', () => {
  test.each(PATHS)('%s answers HEAD as it answers GET, without the body', async (path) => {
    const { app } = testApp();
    const get = await request(app).get(path);
    const head = await request(app).head(path);
    expect(head.status).toBe(get.status);
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
    expect(head.text).toBeFalsy();
  });

  test.each(PATHS)('%s refuses DELETE with 405 in plain text and names what it allows', async (path) => {
    const response = await request(testApp().app).delete(path);
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET, HEAD');
    expect(response.type).toBe('text/plain');
  });

  test('an unknown path is 404 in plain text', async () => {
    const response = await request(testApp().app).get('/metric');
    expect(response.status).toBe(404);
    expect(response.type).toBe('text/plain');
    expect(response.text).toBe('Not found\n');
  });

  test('reloading is refused with 403 unless it is enabled, by POST and by PUT', async () => {
    const { app } = testApp();
    expect((await request(app).post('/-/reload')).status).toBe(403);
    expect((await request(app).put('/-/reload')).status).toBe(403);
    expect((await request(app).get('/-/reload')).headers['allow']).toBe('POST, PUT');
  });
});
