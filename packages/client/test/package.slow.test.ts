/** What is published: built and packed as npm does it, then used as somebody would who has nothing else of this project. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { outerImports, startStubDecisionPoint, startStubLifecycle } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

const CONSUMER = `
import { Countersign, DeniedError, isPermitted, ApiError, NotPermittedError, UnavailableError } from '@countersign/client'
import { DecisionClient } from '@countersign/client/decisions'
import { type GuardVerification, verifyGuard } from '@countersign/client/verify'
import { SeenWebhooks, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from '@countersign/client/webhook'
import type { Admission, EnforcementEvent, EnforcementOptions } from '@countersign/client'
import { knownOptions, ENFORCEMENT_OPTIONS, noteFaultPlace } from '@countersign/client/kernel'
import type { BudgetAccount, Decision, Policy, PolicyDocument, Page } from '@countersign/client'

const client = new Countersign({ apiKey: 'k', agentId: 'agent:support-7' })
const asked = { agent_id: 'agent:support-7', action: 'payment.refund' }
const decision: Decision = await client.authorize({ ...asked, context: { amount: 42.5, tags: ['a', null] } })
if (!isPermitted(decision, asked)) throw new Error(decision.reason ?? decision.status)
const document: PolicyDocument = {
  name: 'refunds',
  rules: [{ action: 'payment.*', effect: 'allow', conditions: { 'context.amount': { $lte: 100 }, $or: [{ action: { $eq: 'a' } }] } }],
}
const policy: Policy = await client.policies.create(document, { idempotencyKey: 'one' })
await client.policies.update(policy.id, policy, { ifRevision: policy.revision })
const page: Page<Policy> = await client.policies.list({ limit: 5 }).page()
for await (const entry of client.audit.list({ type: 'decision.created' })) entry.leaf.length + page.data.length
const secret: string = (await client.keys.create({ name: 'k', scopes: ['decisions:write'] })).key
const permit: string = (await client.decisions.waitForReview(decision, { holder: 'run-77', timeoutMs: 60_000 })).permit_token
await client.decisions.confirm(decision.id, { amount: 40, note: permit }, { idempotencyKey: 'two' })
await client.decisions.correct(decision.id, { result: 'rejected' })
const accounts: readonly BudgetAccount[] = (await client.policies.budget(policy.id).page()).data
for await (const { id, type, data } of client.events({ effect: 'deny', lastEventId: 'c' })) {
  if (type === 'decision.created') id.length + data.action.length + data.budgets.length
}
const signing: string = (await client.webhooks.create({ url: 'https://example.com', events: ['decision.denied'] })).secret
for await (const { attempts } of client.webhooks.deliveries(signing, { status: 'failed' })) attempts[0]?.status?.toFixed()
const denials: number = (await client.stats({ interval: 'hour', group: 'agent' })).data[0]?.effects.deny ?? 0
for await (const { remaining, agent_id } of client.budgets.list()) remaining.toFixed(2) + (agent_id ?? accounts.length)
try {
  await client.agents.suspend(secret)
} catch (error) {
  if (ApiError.isInstance(error)) error.errors.map(({ pointer }) => pointer)
  if (NotPermittedError.isInstance(error)) error.reason satisfies 'declined' | (string & {})
  if (UnavailableError.isInstance(error)) error.kind satisfies 'timeout' | 'connection' | 'bad_answer'
}
const enforcement: EnforcementOptions = {
  review: 'wait',
  settleOn: (outcome) => (outcome.kind === 'failed' ? { settle: 'leave' } : undefined),
  onEvent: (event: EnforcementEvent) => event.type === 'observed' && event.would satisfies 'allow' | 'deny' | 'review' | 'unavailable',
}
const cents: number = await client.guard(
  { action: 'payment.refund', context: { amount: 42.5 } },
  async (given, { permit_token, setAmount }) => {
    setAmount(given.context.amount)
    return given.context.amount * 100 + (permit_token?.length ?? 0)
  },
  enforcement,
)
const paid: string = await client.guard({ action: 'a.b' }, (_asked, { decision, permit_token }) => decision.id + permit_token, {
  idempotencyKey: 'refund-8812',
})
const refund = client.protect(async (order: { id: string }, amount: number) => order.id + amount, {
  action: 'payment.refund',
  resource: (order) => 'order:' + order.id.trim(),
  context: (_order, amount) => ({ amount: amount + cents }),
  bind: [0, 1],
  ...enforcement,
})
const receipt: string = await refund({ id: paid }, 5)
const admission: Admission = await client.enforcement(enforcement).admit(() => ({ action: receipt }))
admission.begin()
const { state } = await admission.settle.by({ kind: 'succeeded', amount: await client.flush({ timeoutMs: 100 }) })
state satisfies 'settled' | 'queued' | 'refused' | 'dropped' | 'left'
let runs = 0
const canary = { attempt: (own: Pick<Countersign, 'guard'>) => own.guard({ action: 'a.b' }, () => { runs += 1 }), runs: () => runs }
const verified: GuardVerification = await verifyGuard({ client, allowed: canary, denied: canary, review: canary })
verified.checks.map(({ name, outcome }) => name === 'denied' && outcome === 'pass')
const denied: unknown = verified
if (DeniedError.isInstance(denied)) denied.reason satisfies string, denied.decision_id?.length
knownOptions('a guard', enforcement, [...ENFORCEMENT_OPTIONS, 'tools'], { hide: 'give it to the middleware' })
noteFaultPlace(denied, ENFORCEMENT_OPTIONS[0] satisfies keyof EnforcementOptions)
const headers: WebhookHeaders = { 'webhook-id': 'evt_1', 'set-cookie': ['a', 'b'], host: undefined }
const event = await verifyWebhook({ body: new Uint8Array(2), headers, secret: ['whsec_1', 'whsec_2'], seen: new SeenWebhooks() })
if (event.type === 'decision.review_requested') event.data.review?.expires_at.length
else if (event.type === 'budget.threshold') event.data.threshold satisfies 50 | 80 | 100
else String(event.type).length + (event.sequence ?? 0)
if (WebhookVerificationError.isInstance(denied)) denied.code satisfies 'replayed' | (string & {})
client.close()
const small: DecisionClient = new DecisionClient({ apiKey: 'k', agentId: 'agent:support-7' })
const either: readonly DecisionClient[] = [small, client]
for (const one of either) await one.decisions.confirm((await one.authorize({ action: 'a.b' })).id, { amount: 5 })
small.close()

// @ts-expect-error without enforcement it guards nothing
await small.guard({ action: 'a.b' }, () => 1)
// @ts-expect-error a parsed body cannot be checked
await verifyWebhook({ body: { type: 'webhook.test' }, headers, secret: 'whsec_1' })
// @ts-expect-error data of another type
if (event.type === 'key.revoked') event.data.review
// @ts-expect-error there is no way to turn an error into an allow
client.enforcement({ onUnavailable: 'allow' })
// @ts-expect-error what is asked about cannot be changed
await client.guard({ action: 'a.b', context: { amount: 1 } }, (given) => { given.context = { amount: 2 } })
// @ts-expect-error without enforcement there may be no decision
await client.guard({ action: 'a.b' }, (_asked, { decision }) => decision.id, { mode: 'observe' })
// @ts-expect-error a function keeps its parameters
await refund({ id: 5 }, 5)
// @ts-expect-error a scope that does not exist
await client.keys.create({ name: 'k', scopes: ['decisions:wrote'] })
// @ts-expect-error a member that does not exist
await client.authorize({ action: 'payment.refund', contxt: {} })
// @ts-expect-error an effect that does not exist
decision.effect === 'permit'
// @ts-expect-error an outcome that does not exist
await client.decisions.correct(decision.id, { result: 'undone' })
// @ts-expect-error a list is not one page
await client.policies.list().data
`

/** Errors of the kernel are those of the main entry: the two are one copy. */
const ENTRIES = `
import { DeniedError } from '@countersign/client'
import * as decisions from '@countersign/client/decisions'
import * as kernel from '@countersign/client/kernel'
import * as text from '@countersign/client/text'
import * as verify from '@countersign/client/verify'
import * as webhook from '@countersign/client/webhook'
let refusal
try {
  kernel.assertNoMissingPart({ resource: 'order:undefined' })
} catch (error) {
  if (error instanceof DeniedError) refusal = error.reason
}
console.log(JSON.stringify({ decisions: Object.keys(decisions).sort(), kernel: Object.keys(kernel).sort(), text: Object.keys(text).sort(), verify: Object.keys(verify), webhook: Object.keys(webhook).sort(), refusal }))
`

describe('the package', () => {
  let folder: string
  let installed: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-client-'))
    installed = join(folder, 'node_modules', '@countersign', 'client')
    await run('npm', ['pack', '--pack-destination', folder, '--loglevel', 'error'], { cwd: root })
    const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
    await run('npm', ['install', ...flags, `./${tarball}`], { cwd: folder })
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const importsOf = (entry: string) => outerImports(join(installed, 'dist', entry), 6)

  it('brings no other package', async () => {
    expect(await readdir(join(folder, 'node_modules', '@countersign'))).toEqual(['client'])
    expect((await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual([
      '@countersign',
    ])
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    expect(manifest.dependencies ?? {}).toEqual({})
    expect(Object.keys(manifest.peerDependencies)).toEqual(['@opentelemetry/api'])
    expect(manifest.peerDependenciesMeta).toEqual({ '@opentelemetry/api': { optional: true } })
  })

  it('holds no tests and no build leftovers', async () => {
    const files = await readdir(installed, { recursive: true })
    expect(files.filter((name) => /\.test\.|tsbuildinfo|^test|^scripts/.test(name))).toEqual([])
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index-node.js', 'dist/index.d.ts']),
    )
  })

  it('imports only what is part of Node in its Node build, and nothing at all in its fetch build', async () => {
    expect(await importsOf('index-node.js')).toEqual(['node:http', 'node:https'])
    expect(await importsOf('index.js')).toEqual([])
    expect(await importsOf('decisions-node.js')).toEqual(['node:http', 'node:https'])
    expect(await importsOf('decisions.js')).toEqual([])
    expect(await importsOf('kernel.js')).toEqual([])
    expect(await importsOf('text.js')).toEqual([])
    expect(await importsOf('verify.js')).toEqual([])
    expect(await importsOf('webhook.js')).toEqual([])
  })

  it('has declarations that name nothing outside the package', async () => {
    expect(await importsOf('index.d.ts')).toEqual([])
    expect(await importsOf('index-node.d.ts')).toEqual([])
    expect(await importsOf('decisions.d.ts')).toEqual([])
    expect(await importsOf('decisions-node.d.ts')).toEqual([])
    expect(await importsOf('kernel.d.ts')).toEqual([])
    expect(await importsOf('text.d.ts')).toEqual([])
    expect(await importsOf('verify.d.ts')).toEqual([])
    expect(await importsOf('webhook.d.ts')).toEqual([])
  })

  it.each([
    ['with the defaults of Node', { module: 'nodenext', target: 'es2022', types: [] }],
    [
      'for a bundler',
      { module: 'esnext', moduleResolution: 'bundler', target: 'es2022', lib: ['es2022', 'dom'], types: [] },
    ],
    ['without DOM and Node types', { module: 'nodenext', target: 'es2022', lib: ['es2022'], types: [] }],
    [
      'with exact optional members',
      { module: 'nodenext', target: 'es2022', types: [], exactOptionalPropertyTypes: true },
    ],
  ])(
    'type-checks alone under strict, library declarations included, %s',
    async (_how, compilerOptions) => {
      const config = {
        compilerOptions: { ...compilerOptions, strict: true, noEmit: true, skipLibCheck: false },
        files: ['consumer.ts'],
      }
      await writeFile(join(folder, 'consumer.ts'), CONSUMER)
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
      const { stdout } = await run(process.execPath, [tsc, '-p', '.'], { cwd: folder }).catch((error) => error)
      expect(stdout).toBe('')
    },
    60_000,
  )

  it('writes the types of the contract out as they are', async () => {
    const wire = await readFile(join(installed, 'dist/wire.d.ts'), 'utf8')
    const names = [...wire.matchAll(/^export (?:type|interface) (\w+) /gm)].map(([, name]) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'Decision',
        'Policy',
        'Conditions',
        'JsonObject',
        'Capabilities',
        'SimulateResponse',
        'BudgetAccount',
        'Correct',
      ]),
    )
    const lines = names.flatMap((name) => [
      `export const to${name} = (given: Published.${name}): Contract.${name} => given`,
      `export const from${name} = (given: Contract.${name}): Published.${name} => given`,
    ])
    const imports = ['Published from "@countersign/client"', 'Contract from "@countersign/contract"']
    await writeFile(join(folder, 'same.ts'), [...imports.map((one) => `import type * as ${one}`), ...lines].join('\n'))
    const contract = fileURLToPath(new URL('../../contract/dist/index.d.ts', import.meta.url))
    const options = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: true, types: [] }
    const config = {
      compilerOptions: { ...options, paths: { '@countersign/contract': [contract] } },
      files: ['same.ts'],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const { stdout } = await run(process.execPath, [tsc, '-p', '.'], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  }, 60_000)

  it('exports the same from both builds of its entries', async () => {
    const [overNode, overFetch] = await Promise.all([
      import(join(installed, 'dist/index-node.js')),
      import(join(installed, 'dist/index.js')),
    ])
    expect(Object.keys(overNode).sort()).toEqual([
      'ApiError',
      'Countersign',
      'CountersignError',
      'DeniedError',
      'NotPermittedError',
      'UnavailableError',
      'isPermitted',
      'refusalForModel',
    ])
    expect(Object.keys(overFetch).sort()).toEqual(Object.keys(overNode).sort())
    expect(await readFile(join(installed, 'dist/index-node.d.ts'), 'utf8')).toContain('class Countersign extends')
    const [decisionsOverNode, decisionsOverFetch] = await Promise.all([
      import(join(installed, 'dist/decisions-node.js')),
      import(join(installed, 'dist/decisions.js')),
    ])
    expect(Object.keys(decisionsOverFetch).sort()).toEqual(Object.keys(decisionsOverNode).sort())
  })

  it('has the small client, what integrations share, the trial of a guard and the check of webhooks in entries of their own', async () => {
    await writeFile(join(folder, 'entries.mjs'), ENTRIES)
    const { stdout } = await run(process.execPath, ['entries.mjs'], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({
      decisions: [
        'ApiError',
        'CountersignError',
        'DecisionClient',
        'NotPermittedError',
        'UnavailableError',
        'isPermitted',
      ],
      kernel: [
        'ENFORCEMENT_OPTIONS',
        'HiddenTools',
        'REFUSAL_SENTENCES',
        'TOOL_GUARD_OPTIONS',
        'VISIBLE',
        'actionOfTool',
        'assertNoMissingPart',
        'atOnce',
        'currentRun',
        'eventReporter',
        'faultOfPath',
        'frozenCopy',
        'guardOfOneTool',
        'heldData',
        'isOutcomeUnknown',
        'knownOptions',
        'mappingIn',
        'memberAt',
        'nameTemplate',
        'noteFaultPlace',
        'plainWithWords',
        'runToolCall',
        'toolGuard',
        'variantOf',
        'warnOfFault',
        'warnOperator',
      ],
      text: [
        'LinesError',
        'isRetryableStatus',
        'linesOf',
        'parseRetryAfter',
        'printable',
        'retryDelayMs',
        'reviewerWords',
      ],
      verify: ['verifyGuard'],
      webhook: ['SeenWebhooks', 'WEBHOOK_TYPES', 'WebhookVerificationError', 'readWebhookChecks', 'verifyWebhook'],
      refusal: 'question_refused',
    })
  })

  it('resolves to node:http on Node, takes its defaults from the environment and lets an idle process end', async () => {
    const lifecycle = startStubLifecycle()
    const stub = await startStubDecisionPoint((request, response) => {
      lifecycle.answer(request, response)
      const [, id] = /([^/]+)\?wait=/.exec(request.url) ?? []
      if (id !== undefined) lifecycle.change(id, { status: 'approved' })
    })
    await writeFile(join(folder, 'idle-process.mjs'), await readFile(join(root, 'test', 'idle-process.mjs')))
    const { stdout } = await run(process.execPath, ['idle-process.mjs'], {
      cwd: folder,
      timeout: 10_000,
      env: {
        ...process.env,
        COUNTERSIGN_URL: stub.url,
        COUNTERSIGN_API_KEY: 'key-of-a-test',
        COUNTERSIGN_AGENT_ID: 'agent:support-7',
      },
    })
    expect(stdout).toBe('awaiting_review, then authorized\n')
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toMatchObject({ agent_id: 'agent:support-7' })
    // fetch names itself; node:http does not.
    expect(stub.requests[0]?.headers['user-agent']).toBeUndefined()
    await stub.close()
  })
})
