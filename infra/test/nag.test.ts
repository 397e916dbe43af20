// cdk-nag's AwsSolutions rules over the three profiles. What is not followed is listed here with its reason; nothing else passes,
// and no entry stays that nothing needs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { PROFILES, Profile, example, stack } from './templates';

interface Accepted {
  rule: RegExp;
  at: RegExp;
  /** Where it is accepted, if not everywhere. */
  only?: Profile[];
  because: string;
}

const ACCEPTED: Accepted[] = [
  { rule: /^VPC7$/, at: /\/Data\/Vpc\//, only: ['smallest', 'serverless'], because: 'Flow logs cost by the gigabyte; production has them for what is rejected.' },
  { rule: /^SMG4$/, at: /\/Ledger\/Secret\//, because: 'The functions read the password when they start, so a rotation would break those that run. README.md tells how to change it by hand.' },
  { rule: /^RDS3$/, at: /\/Ledger\//, only: ['smallest'], because: 'A second zone doubles the price of the database; production has it.' },
  { rule: /^RDS10$/, at: /\/Ledger\//, only: ['smallest', 'serverless'], because: 'A try-out must be removable by one command; production is protected.' },
  { rule: /^RDS11$/, at: /\/Ledger\//, because: 'The port is open to the functions\' security group only. Another number would hide it from nobody else.' },
  { rule: /^RDS6$/, at: /\/Ledger\//, only: ['serverless'], because: 'The product signs in by password, which it reads from its secret; it has no IAM sign-in.' },
  { rule: /^RDS14$/, at: /\/Ledger\//, only: ['serverless'], because: 'Backups to a point in time are on. Backtrack would cost extra for the same end.' },
  { rule: /^IAM4\[.*AWSLambda(BasicExecution|VPCAccessExecution)Role\]$/, at: /\/Functions\/(Chat|Api|Maintenance)\/ServiceRole\//, because: 'Logs and network interfaces, as Lambda needs them: AWS\'s own policies follow what Lambda comes to need.' },
  { rule: /^IAM4\[.*AmazonAPIGatewayPushToCloudWatchLogs\]$/, at: /\/CloudWatchRole\//, because: 'The gateway accepts this policy for its account-wide logging role.' },
  { rule: /^IAM5\[Resource::\*\]$/, at: /\/Functions\/(Chat|Api|Maintenance)\/ServiceRole\/DefaultPolicy\//, because: 'X-Ray and Insights query ids have no resource; stack.test.ts lists the actions.' },
  { rule: /^IAM5\[Resource::arn:.*:log-group:[^*]+:\*\]$/, at: /\/Functions\/Chat\/ServiceRole\/DefaultPolicy\//, only: ['production'], because: 'The streams of a log group that the data sources file names; that is how its ARN is written.' },
  { rule: /^IAM5\[Resource::<MigrationsHandler\w+\.Arn>:\*\]$/, at: /\/Migrations\/FrameworkRole\//, because: 'The versions of the one handler that the CDK\'s framework calls.' },
  { rule: /^APIG2$/, at: /\/Gateway\/Rest\//, because: 'The functions check each request themselves and answer with problem documents that say what would be right.' },
  { rule: /^APIG3$/, at: /\/Gateway\/Rest\//, because: 'A web ACL costs by the month and its rules are the owner\'s. Callers are told apart and limited by the product; README.md names it.' },
  { rule: /^APIG6$/, at: /\/Gateway\/Rest\//, because: 'Execution logs would hold what requests say, for ever. Access logs are on.' },
  { rule: /^(APIG4|COG4)$/, at: /\/Gateway\/Rest\/Default\//, because: 'The functions tell callers apart by API key or token (AUTH_MODE) and refuse to start without a mode.' },
];

const used = new Set<Accepted>();
for (const name of PROFILES) {
  test(`${name}: AwsSolutions`, () => {
    const app = new App();
    stack(example(name), app);
    const found = new AwsSolutionsChecks(app).validateScope(app).violations.flatMap((v) => v.violatingResources.map((r) => ({ rule: v.ruleName.replace(/^AwsSolutions-/, ''), at: r.constructPath! })));
    assert.ok(found.length > 0);
    const left = found.filter((f) => {
      const reason = ACCEPTED.find((a) => a.rule.test(f.rule) && a.at.test(f.at) && (a.only === undefined || a.only.includes(name)));
      if (reason) used.add(reason);
      return !reason;
    });
    assert.deepEqual(left, []);
  });
}
test('everything accepted is needed and says why', () => {
  for (const a of ACCEPTED) {
    assert.ok(used.has(a), `${a.rule} at ${a.at} is not needed`);
    assert.ok(a.because.length > 40, `${a.rule}`);
  }
});
