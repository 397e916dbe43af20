// The templates as they were reviewed. After a change that is meant: `npm run snapshots`, and read the difference.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Template } from 'aws-cdk-lib/assertions';
import { Json, PROFILES, profile } from './templates';

const sorted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};

/** Without what changes with the content of packages and not with the template. */
function normalised(t: Template): string {
  return `${JSON.stringify(sorted(t.toJSON()), null, 1)}\n`
    .replace(/[0-9a-f]{64}/g, 'HASH')
    .replace(/((?:CurrentVersion|RestDeployment)[0-9A-F]{8})[0-9a-f]{32}/g, '$1')
    .replace(/MigrationsStep[0-9a-f]{12}[0-9A-F]{8}/g, 'MigrationsStep');
}

for (const name of PROFILES) {
  test(`${name}: the template is the reviewed one`, () => {
    const file = join('test/snapshots', `${name}.json`);
    const now = normalised(profile(name));
    if (process.env.UPDATE_SNAPSHOTS) writeFileSync(file, now);
    const differs = now !== readFileSync(file, 'utf8');
    assert.ok(!differs, `${file} is another template: if that is meant, run npm run snapshots and read the difference`);
  });
}
