/** A whole minute for people: `2026-11-20T08:00Z`. */
export function formatMinute(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16)}Z`;
}
