// The three profiles of examples/, synthesised over packages that hold no program.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Config, FUNCTIONS, load } from '../lib/config';
import { SuperbizStack } from '../lib/stack';

export const PROFILES = ['smallest', 'production', 'serverless'] as const;
export type Profile = (typeof PROFILES)[number];
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

export function packages(architecture?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'superbiz-'));
  for (const name of FUNCTIONS) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'bootstrap.zip'), name);
  }
  if (architecture) writeFileSync(join(folder, 'architecture'), `${architecture}\n`);
  return folder;
}

const empty = packages();
export const example = (profile: Profile): Config => ({ ...load(join('examples', `${profile}.json`)), packages: empty });

export function stack(config: Config, app = new App()): SuperbizStack {
  return new SuperbizStack(app, `superbiz-${config.stage}`, config);
}

export const template = (config: Config) => Template.fromStack(stack(config));
const made = new Map<Profile, Template>();
export function profile(name: Profile): Template {
  if (!made.has(name)) made.set(name, template(example(name)));
  return made.get(name)!;
}

export const all = (t: Template, type: string): Json[] => Object.values(t.findResources(type)).map((r) => r.Properties);
/** The functions of the product, by name. */
export function functions(t: Template): Record<string, Json> {
  const found = Object.entries(t.findResources('AWS::Lambda::Function')).filter(([, r]) => r.Properties.Runtime === 'provided.al2023');
  return Object.fromEntries(found.map(([id, r]) => [/^Functions(Chat|Api|Maintenance)/.exec(id)![1]!.toLowerCase(), { id, ...r.Properties }]));
}
export const statements = (t: Template): Json[] => all(t, 'AWS::IAM::Policy').flatMap((p) => p.PolicyDocument.Statement);
/** The statements of one function's own role. */
export function rights(t: Template, name: string): Json[] {
  const role = new RegExp(`^Functions${name}ServiceRole`, 'i');
  return all(t, 'AWS::IAM::Policy').filter((p) => role.test(p.Roles[0].Ref)).flatMap((p) => p.PolicyDocument.Statement);
}
