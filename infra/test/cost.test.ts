// COST.md is what the templates and the prices say now.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { page, standing, thousandRuns } from '../lib/cost';
import { PROFILES, example, profile, template } from './templates';

const json = Object.fromEntries(PROFILES.map((name) => [name, profile(name).toJSON()]));
const sum = (lines: { month: number }[]) => lines.reduce((n, l) => n + l.month, 0);

test('COST.md is not stale', () => {
  assert.ok(page(json) === readFileSync('COST.md', 'utf8'), 'run npm run cost and read the difference');
});
test('everything that stands there has a price', () => {
  for (const name of PROFILES) {
    const lines = standing(json[name]);
    for (const part of [/NAT/, /Valkey/, /Database|Aurora/, /alarms/, /Sweeps/]) assert.ok(lines.some((l) => part.test(l.what)), `${name}: ${part}`);
    for (const l of [...lines, ...thousandRuns(json[name])]) assert.ok(l.month >= 0 && Number.isFinite(l.month), l.what);
  }
});
test('more costs more', () => {
  assert.ok(sum(standing(json.production)) > 2 * sum(standing(json.smallest)));
  const awake = template({ ...example('serverless'), minCapacity: 1 }).toJSON();
  assert.ok(sum(standing(awake)) > sum(standing(json.serverless)));
});
