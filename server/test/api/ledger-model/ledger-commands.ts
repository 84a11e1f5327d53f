/** What may happen in the model test, drawn at random: mostly what meets a limit, a boundary of time or each other. */
import fc from 'fast-check'
import type { LedgerServer } from './ledger-server.js'
import type { ReferencePolicy } from './reference-policies.js'
import type { Scene } from './scene.js'
import type { Step } from './step.js'

type Command = fc.AsyncCommand<Scene, LedgerServer>
type StepOnDecision = Extract<Step, { readonly ref: string }>
/** A step whose decision is one of those that there are. */
type Draft<S> = S extends { readonly ref: string } ? Omit<S, 'ref'> : never

class StepCommand implements Command {
  constructor(private readonly step: Exclude<Step, StepOnDecision> | Draft<Extract<Step, { readonly op: 'decide' }>>) {}
  check = () => true
  run = (scene: Scene, server: LedgerServer) => scene.expectSame(server, scene.step(this.step))
  toString = () => JSON.stringify(this.step)
}

class TransitionCommand implements Command {
  constructor(
    private readonly transition: Draft<Exclude<StepOnDecision, { readonly op: 'decide' }>>,
    private readonly pick: number,
  ) {}
  check = (scene: Readonly<Scene>) => scene.refs.length > 0
  run = (scene: Scene, server: LedgerServer) =>
    scene.expectSame(server, { ...this.transition, ref: scene.ref(this.pick) } as Step)
  toString = () => `${JSON.stringify(this.transition)} of decision ${this.pick}`
}

class ClockCommand implements Command {
  constructor(
    private readonly to: 'hence' | 'period' | 'end' | 'last_correction',
    private readonly offsetMs: number,
    private readonly pick: number,
  ) {}
  check = (scene: Readonly<Scene>) => scene.refs.length > 0 || this.to === 'hence' || this.to === 'period'
  async run(scene: Scene, server: LedgerServer): Promise<void> {
    scene.moveClock(server, scene.moment(this.to, this.pick) + this.offsetMs)
  }
  toString = () => `clock ${this.to} ${this.pick} ${this.offsetMs} ms`
}

class RestartCommand implements Command {
  check = () => true
  run = (_: Scene, server: LedgerServer) => server.restartNowAndThen()
  toString = () => 'restart'
}

const AMOUNTS = [0, 5e-7, 1e-7, 0.1, 0.2, 0.30000000000000004, 10, 40, 60, 60.000001, 100, 100.000001, 1e12]
const amount = fc.constantFrom(...AMOUNTS)
const often = (values: fc.Arbitrary<unknown>) => fc.option(values, { nil: undefined, freq: 4 })
const agent = fc.constantFrom('agent_0', 'agent_1', 'agent_2')
const holder = fc.constantFrom(undefined, null, 'one', 'two')
const who = fc.constantFrom('asker', 'asker', 'redeemer', 'settler')

/** Without the members that were drawn to be absent. */
const given = <T extends object>(values: T): T =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T

const context = fc
  .record({
    amount: often(
      fc.oneof({ weight: 8, arbitrary: amount }, { weight: 1, arbitrary: fc.constantFrom('10', -1, null) }),
    ),
    currency: fc.constantFrom(undefined, undefined, 'EUR', 'eur', 'USD', null, 7),
    cost: fc.option(amount, { nil: undefined }),
  })
  .map(given)

const decide = fc
  .record({
    op: fc.constant('decide' as const),
    request: fc.record({ agent_id: agent, action: fc.constantFrom('pay.create', 'pay.refund', 'doc.read'), context }),
    idempotency_key: fc.constantFrom(undefined, undefined, 'key_0', 'key_1'),
    holder,
  })
  .map((step) => new StepCommand(given(step) as Draft<Extract<Step, { readonly op: 'decide' }>>))

const condition = fc.constantFrom(undefined, { 'context.amount': { $gt: 50 } }, { 'context.amount': { $lte: 40 } })
const rule = fc
  .record({
    action: fc.constantFrom('*', '*', 'pay.*', 'doc.read'),
    effect: fc.constantFrom('allow', 'allow', 'allow', 'review', 'review', 'deny', 'log'),
    conditions: condition,
  })
  .map(given)
const budget = fc
  .record({
    limit: fc.constantFrom(0, 0.3, 10, 100, 100, 1e12),
    unit: fc.constantFrom('EUR', 'EUR', 'eur', 'USD', 'calls'),
    period: fc.constantFrom('hourly', 'daily', 'weekly', 'monthly', 'yearly', 'total', 'total'),
    actions: fc.constantFrom(undefined, undefined, ['pay.*'], ['*.create', 'doc.*']),
    amount: fc.constantFrom(undefined, undefined, undefined, 'context.cost', 1, 0.000001, 40),
    currency: fc.constantFrom(undefined, undefined, undefined, 'context.currency'),
    scope: fc.constantFrom(undefined, undefined, 'policy', 'agent'),
    on_exceed: fc.constantFrom(undefined, 'deny', 'review'),
  })
  .map(given)

export const putPolicy: fc.Arbitrary<ReferencePolicy> = fc
  .record({
    id: fc.constantFrom('pol_0', 'pol_1', 'pol_2'),
    name: fc.constant(undefined),
    priority: fc.constantFrom(undefined, undefined, undefined, 5),
    enabled: fc.constantFrom(undefined, undefined, undefined, undefined, false),
    mode: fc.constantFrom(undefined, undefined, undefined, undefined, 'shadow'),
    agents: fc.constantFrom(undefined, undefined, undefined, ['agent_0*', 'agent_2*']),
    rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
    budget: often(budget),
  })
  .map((policy) => given({ ...policy, name: policy.id }) as ReferencePolicy)

const step = (made: fc.Arbitrary<Exclude<Step, StepOnDecision>>) => made.map((one) => new StepCommand(one))
const transition = <Op extends string>(op: Op, members: Readonly<Record<string, fc.Arbitrary<unknown>>> = {}) =>
  fc
    .tuple(fc.record({ op: fc.constant(op), ...members }), fc.nat(5))
    .map(
      ([drawn, pick]) =>
        new TransitionCommand(given(drawn) as ConstructorParameters<typeof TransitionCommand>[0], pick),
    )
const clock = (to: ConstructorParameters<typeof ClockCommand>[0], offsets: readonly number[]) =>
  fc.tuple(fc.constantFrom(...offsets), fc.nat(5)).map(([offset, pick]) => new ClockCommand(to, offset, pick))

const AROUND = [-1000, -1, 0, 1, 1000]
const weighted: readonly (readonly [number, fc.Arbitrary<Command>])[] = [
  [12, decide],
  [4, transition('confirm', { amount: fc.option(amount, { nil: undefined }), who })],
  [3, transition('reject', { who })],
  [4, transition('approve', { exceed_budget: fc.constantFrom(undefined, false, true) })],
  [4, transition('claim', { holder })],
  [2, transition('redeem')],
  [1, transition('decline')],
  [2, transition('correct', { result: fc.constant('confirmed'), amount: fc.option(amount, { nil: undefined }) })],
  [1, transition('correct', { result: fc.constant('rejected') })],
  [2, transition('get')],
  [4, step(fc.constant({ op: 'budgets' }))],
  [2, step(putPolicy.map((policy) => ({ op: 'put_policy', policy })))],
  [1, step(fc.constantFrom('pol_0', 'pol_1', 'pol_2').map((policy_id) => ({ op: 'delete_policy', policy_id })))],
  [1, step(agent.map((agent_id) => ({ op: 'suspend', agent_id })))],
  [1, step(agent.map((agent_id) => ({ op: 'resume', agent_id })))],
  [3, clock('hence', [1, 250, 1000, 299_999, 300_000, 3_600_000, 86_399_999, 86_400_000])],
  [2, clock('period', AROUND)],
  [3, clock('end', AROUND)],
  [1, clock('last_correction', AROUND)],
  [1, fc.constant(new RestartCommand())],
]

export const ledgerCommands = fc.commands(
  weighted.flatMap(([weight, arbitrary]) => Array<fc.Arbitrary<Command>>(weight).fill(arbitrary)),
  { maxCommands: 40, size: 'max' },
)
