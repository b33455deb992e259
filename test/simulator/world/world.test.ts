import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alertEvents } from '../../../simulator/world/alertEvents.ts';
import { health, rollingSummary } from '../../../simulator/world/rollingFigures.ts';
import { incidentNear } from '../../../simulator/world/traffic.ts';
import { type WorldScope, type World, createWorld } from '../../../simulator/world/world.ts';
import { isReporting, MINUTE } from '../../../simulator/world/worldEntities.ts';

const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
const MINUTE_NOW = Math.floor(NOW / MINUTE);
const FIRST = 1_000_001;
const MINUTES_PER_DAY = 1440;

function scope(world: World, ids: Parameters<World['scope']>[0]): WorldScope {
  const found = world.scope(ids);
  if (found === undefined) throw new Error('no such scope');
  return found;
}

/** The count of a metric in these minutes; NaN where the scope does not have the metric. */
function count(world: World, where: WorldScope, name: string, from: number, to: number, now?: number): number {
  const metric = world.metric(where, name);
  return metric === undefined ? NaN : (world.sum(where, [metric], from, to, now)[0]?.count ?? NaN);
}

describe('a world', () => {
  it('depends only on its options and the time', () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000), fc.nat(15), fc.nat(40_000_000), (seed, index, minute) => {
        const sums = [1, 2].map(() => {
          const world = createWorld({ seed });
          const where = scope(world, { application: FIRST + index });
          return JSON.stringify(world.sum(where, world.metrics(where).slice(0, 20), minute, minute + 3));
        });
        expect(sums[0]).toBe(sums[1]);
      }),
      { numRuns: 30 },
    );
  });

  it('differs with the seed', () => {
    const [one, other] = [1, 2].map((seed) => {
      const world = createWorld({ seed });
      return count(world, scope(world, { application: FIRST }), 'HttpDispatcher', MINUTE_NOW - 30, MINUTE_NOW);
    });
    expect(one).not.toBe(other);
  });

  it('sums an application from its hosts, and a host from its instances', () => {
    const world = createWorld({ hostsPerApplication: 3 });
    for (const { id } of world.applications().filter(({ archetype }) => archetype.reporting)) {
      const application = scope(world, { application: id });
      for (const name of ['HttpDispatcher', 'OtherTransaction/all', 'Errors/all', 'Memory/Physical']) {
        if (world.metric(application, name) === undefined) continue;
        const counted = (part: object) =>
          count(world, scope(world, { application: id, ...part }), name, MINUTE_NOW - 5, MINUTE_NOW);
        const hosts = world.hosts(application.application, NOW).map(({ id: host }) => counted({ host }));
        const instances = world
          .instances(application.application, NOW)
          .map(({ id: instance }) => counted({ instance }));
        for (const parts of [hosts, instances]) expect(parts.reduce((sum, part) => sum + part, 0)).toBe(counted({}));
      }
    }
  });

  it('splits web transactions and their errors without losing one', () => {
    const world = createWorld();
    const where = scope(world, { application: FIRST });
    const names = where.application.archetype.transactions.map(({ name }) => name);
    const total = (prefix: string) =>
      names.reduce((sum, name) => sum + count(world, where, prefix + name, MINUTE_NOW - 60, MINUTE_NOW), 0);
    expect(total('WebTransaction/')).toBe(count(world, where, 'HttpDispatcher', MINUTE_NOW - 60, MINUTE_NOW));
    expect(total('Errors/WebTransaction/')).toBe(count(world, where, 'Errors/allWeb', MINUTE_NOW - 60, MINUTE_NOW));
  });

  it('is busier by day than by night, and on Wednesday than on Sunday', () => {
    const world = createWorld();
    const where = scope(world, { application: FIRST });
    const hour = (day: number, hourOfDay: number) => {
      const from = Date.UTC(2026, 4, day, hourOfDay) / MINUTE;
      return count(world, where, 'HttpDispatcher', from, from + 60);
    };
    expect(hour(20, 14)).toBeGreaterThan(2 * hour(20, 2));
    expect(hour(20, 14)).toBeGreaterThan(1.3 * hour(24, 14));
  });

  it('has an incident now and then, with slower responses and more errors', () => {
    const day = Array.from({ length: 10 * MINUTES_PER_DAY }, (_, index) => MINUTE_NOW - index);
    const incident = day.map((minute) => incidentNear(1, 0, minute)).find((found) => found !== undefined);
    if (incident === undefined) throw new Error('no incident in ten days');
    const world = createWorld({ seed: 1 });
    const where = scope(world, { application: FIRST });
    const metrics = ['HttpDispatcher', 'Errors/all'].map((name) => world.metric(where, name)!);
    const [during, errors] = world.sum(where, metrics, incident.fromMinute, incident.toMinute);
    const [before, earlier] = world.sum(where, metrics, incident.fromMinute - 20, incident.fromMinute);
    expect(during!.total / during!.count).toBeGreaterThan((1.5 * before!.total) / before!.count);
    expect(errors!.count / during!.count).toBeGreaterThan(0.05);
    expect(earlier!.count / before!.count).toBeLessThan(0.03);
  });
});

describe('a plain world without random incidents', () => {
  const trouble = (world: World, from: number, step: number): readonly string[] => {
    const found = new Set<string>();
    for (let minute = from; minute < from + 7 * MINUTES_PER_DAY; minute += step) {
      for (const { id, name, archetype } of world.applications()) {
        const where = scope(world, { application: id });
        const now = minute * MINUTE;
        for (const minutes of [4, 5]) {
          const figures = rollingSummary(world, where, now, 'web', minutes);
          const status = health(archetype.reporting, archetype.alertPolicy, figures);
          if (['red', 'orange'].includes(status)) found.add(name);
        }
      }
    }
    return [...found];
  };

  it.each([1, 2, 3])(
    'has nothing in trouble but the hourly incident, in any hour of the week, with seed %d',
    (seed) => {
      const options = { seed, oddNames: false, chanceIncidents: false };
      expect(trouble(createWorld(options), MINUTE_NOW, 37)).toEqual([]);
      const hourlyIncident = { application: 1, fromMinute: MINUTE_NOW };
      expect(trouble(createWorld({ ...options, hourlyIncident }), MINUTE_NOW, 37)).toEqual(['Checkout API']);
      expect(trouble(createWorld({ ...options, chanceIncidents: true }), MINUTE_NOW, 37).length).toBeGreaterThan(1);
    },
  );
});

describe('the names of a world', () => {
  const namesOf = (oddNames: boolean) => {
    const world = createWorld({ applications: 32, keyTransactions: 32, oddNames });
    return {
      applications: world.applications().map(({ name }) => name),
      others: world.applications().flatMap(({ id, archetype }) => {
        const metrics = world.metrics(scope(world, { application: id })).map(({ name }) => name);
        return [...metrics, ...Object.entries(archetype.tags).flat(2)];
      }),
      keyTransactions: world.keyTransactions().map(({ name }) => name),
    };
  };

  it('are plain and unique without odd names', () => {
    const { applications, others, keyTransactions } = namesOf(false);
    expect(applications.filter((name) => !/^[A-Za-z0-9 ]+$/.test(name))).toEqual([]);
    expect(new Set(applications).size).toBe(applications.length);
    expect([...others, ...keyTransactions].filter((name) => /["\\%|[\]{}]|[^ -~]/.test(name))).toEqual([]);
  });

  it('contain unusual characters, and one name appears twice, with odd names', () => {
    const { applications, others } = namesOf(true);
    expect(applications).toContain('Quote " back\\slash {brace} [bracket] 100% & <tag> Übergröße 日本');
    expect(new Set(applications).size).toBeLessThan(applications.length);
    expect(others).toContain('Custom/Gauge[bytes|host] 100%/Größe');
  });
});

describe('an hourly incident', () => {
  const world = createWorld({ hourlyIncident: { application: 1, fromMinute: MINUTE_NOW } });
  const errorRatio = (id: number, from: number, to: number) => {
    const where = scope(world, { application: id });
    return count(world, where, 'Errors/all', from, to) / count(world, where, 'HttpDispatcher', from, to);
  };

  it.each([-60 * 24 * 8, -60, 0, 60, 60 * 24 * 365])(
    'lasts the first half of the hour, %d minutes from now',
    (hour) => {
      const first = MINUTE_NOW + hour;
      for (const minute of [0, 29])
        expect(errorRatio(FIRST + 1, first + minute, first + minute + 1)).toBeGreaterThan(0.4);
      for (const minute of [-1, 30])
        expect(errorRatio(FIRST + 1, first + minute, first + minute + 1)).toBeLessThan(0.4);
    },
  );

  it('leaves the other applications as they are', () => {
    const calm = createWorld();
    for (const { id } of world.applications().filter(({ index }) => index !== 1)) {
      const [here, there] = [world, calm].map((each) => {
        const where = scope(each, { application: id });
        return each.sum(where, each.metrics(where).slice(0, 20), MINUTE_NOW, MINUTE_NOW + 10);
      });
      expect(here).toEqual(there);
    }
  });

  it('is replaced by a requested incident', () => {
    const incident = { fromMinute: MINUTE_NOW, toMinute: MINUTE_NOW + 5, responseFactor: 1, errorRatio: 0.9 };
    const amended = world.amend(FIRST + 1, { incident });
    const where = scope(amended, { application: FIRST + 1 });
    const [errors, requests] = ['Errors/all', 'HttpDispatcher'].map((name) => {
      return count(amended, where, name, MINUTE_NOW, MINUTE_NOW + 5);
    });
    expect(errors! / requests!).toBeGreaterThan(0.8);
  });

  it('opens an alert event in every hour', () => {
    const [from, until] = [MINUTE_NOW - 180, MINUTE_NOW + 60];
    const application = world.application(FIRST + 1)!;
    const begins = [...alertEvents(world, application, from, until)]
      .filter(({ fromMinute, toMinute }) => toMinute - fromMinute === 30)
      .map(({ fromMinute }) => fromMinute - MINUTE_NOW - 3);
    for (const hour of [-180, -120, -60, 0]) expect(begins).toContain(hour);
    expect(new Set(begins).size).toBe(begins.length);
  });
});

describe('a changed world', () => {
  it('stops reporting ten minutes after the last data, and loses its hosts after an hour', () => {
    const world = createWorld().amend(FIRST, { silentFromMinute: MINUTE_NOW });
    const application = world.application(FIRST)!;
    expect(isReporting(application, NOW + 9 * MINUTE)).toBe(true);
    expect(isReporting(application, NOW + 10 * MINUTE)).toBe(false);
    expect(world.hosts(application, NOW + 59 * MINUTE)).toHaveLength(2);
    expect(world.hosts(application, NOW + 60 * MINUTE)).toEqual([]);
    expect(count(world, scope(world, { application: FIRST }), 'HttpDispatcher', MINUTE_NOW, MINUTE_NOW + 5)).toBe(0);
  });

  it('gives an application without errors the errors of a requested incident', () => {
    const billing = FIRST + 9;
    const incident = { fromMinute: MINUTE_NOW - 10, toMinute: MINUTE_NOW, responseFactor: 3, errorRatio: 0.5 };
    const world = createWorld().amend(billing, { incident });
    const where = scope(world, { application: billing });
    expect(count(world, where, 'Errors/all', MINUTE_NOW - 10, MINUTE_NOW)).toBeGreaterThan(0);
    expect(count(world, where, 'Errors/all', MINUTE_NOW - 3000, MINUTE_NOW - 10)).toBe(0);
  });
});

describe('late data', () => {
  const names = ['HttpDispatcher', 'Errors/all', 'Apdex'];
  const sums = (world: World, now?: number): unknown => {
    const where = scope(world, { application: FIRST });
    const metrics = names.flatMap((name) => world.metric(where, name) ?? []);
    return world.sum(where, metrics, MINUTE_NOW - 3, MINUTE_NOW, now);
  };
  const punctual = createWorld();
  const late = createWorld({ lateData: 0.5 });

  it('are complete once they have arrived, with the same values as without lateness', () => {
    expect(sums(late)).toEqual(sums(punctual));
    expect(sums(late, (MINUTE_NOW + 8) * MINUTE)).toEqual(sums(punctual));
  });

  it('are partly missing when the minutes end, and never decrease later', () => {
    const where = scope(late, { application: FIRST });
    const counts = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((after) =>
      count(late, where, 'HttpDispatcher', MINUTE_NOW - 3, MINUTE_NOW, (MINUTE_NOW + after) * MINUTE),
    );
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(new Set(counts).size).toBeGreaterThan(3);
  });

  it('are the requested share', () => {
    const where = scope(punctual, { application: FIRST });
    const arrived = (lateData: number): number => {
      const minutes = createWorld({ lateData }).minutes(where, MINUTE_NOW - 1, MINUTE_NOW, MINUTE_NOW * MINUTE);
      return [...minutes].length;
    };
    expect(arrived(0)).toBe(where.instances.length);
    expect(arrived(1)).toBe(0);
  });
});
