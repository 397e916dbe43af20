// Synthesises the stack of the configuration file named by SUPERBIZ_CONFIG (JSON, the fields of lib/config.ts).
import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Config } from '../lib/config';
import { SuperbizStack } from '../lib/stack';

const file = process.env.SUPERBIZ_CONFIG;
if (!file) throw new Error('SUPERBIZ_CONFIG is not set; name a JSON file with the fields of infra/lib/config.ts');
const config = JSON.parse(readFileSync(file, 'utf8')) as Config;
const app = new App({ outdir: 'cdk.out' });
new SuperbizStack(app, `superbiz-${config.stage}`, config);
app.synth();
