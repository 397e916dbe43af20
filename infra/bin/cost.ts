// Writes COST.md.
import { writeFileSync } from 'node:fs';
import { page } from '../lib/cost';
import { PROFILES, profile } from '../test/templates';

writeFileSync('COST.md', page(Object.fromEntries(PROFILES.map((name) => [name, profile(name).toJSON()]))));
