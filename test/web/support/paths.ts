/** Every path that is read, below the route prefix. */
export const READ_PATHS = [
  '/',
  '/metrics',
  '/probe?account=production&app_id=7',
  '/sd',
  '/api/status',
  '/config',
  '/-/healthy',
  '/-/ready',
];
