/** Callers who decide, review and settle at any of several servers, and ask again until they are answered. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Answer, RunningServer } from '../running-server.js'
import { BrokenPromiseError } from './ledger-run.js'

/** Who asks for decisions; everything else is done with the key that may everything. */
type Who = 'asker' | 'admin'

interface Asked {
  readonly path: string
  readonly body: object
  readonly as: Who
  /** The idempotency key. */
  readonly name: string
}

/** A call that was answered by a success. */
export interface Acknowledged extends Asked {
  readonly status: number
  readonly id: string
}

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

/** A decision, a policy, an agent or a key as it was acknowledged, and the types of entries that the log has to have of it. */
export interface Known {
  answer: AnyJson
  readonly entries: string[]
}

/** Of a caller. A store that is cut all the time may take long to answer, and a busy machine longer. */
const PERSEVERANCE_MS = 60_000
/** How often a caller does not wait for the answer and asks somebody else. */
const IMPATIENCE = 0.1
const PATIENCE_MS = 40
const AGENTS = ['agent:relay-1', 'agent:relay-2', 'agent:relay-3']
const ENTRY: Readonly<Record<string, string>> = {
  approve: 'decision.approved',
  decline: 'decision.declined',
  claim: 'decision.claimed',
  confirm: 'decision.confirmed',
  reject: 'decision.rejected',
  correct: 'decision.corrected',
}

export interface RelayLoadOptions {
  readonly servers: readonly RunningServer[]
  readonly random: () => number
  /** How many decisions and transitions of them have to be acknowledged. */
  readonly operations: number
  readonly budgetLimit: number
}

interface TransitionOptions {
  readonly as?: Who
  /** The code of a refusal that may come. */
  readonly refusal?: string
}

export class RelayLoad {
  /** By the marker in its context. */
  readonly decisions = new Map<string, Known>()
  /** Policies, agents and keys, by id. */
  readonly others = new Map<string, Known>()
  readonly acknowledged: Acknowledged[] = []
  /** The policy that reads the amount, and the one that counts for each agent. */
  readonly policies: string[] = []
  /** What corrections have counted that had been given back, in 1e-6: its room may have gone to another. */
  corrected = 0n
  /** Enough was answered, or something is wrong. */
  isOver = false
  /** How many decisions and transitions were answered. */
  operations = 0
  /** How many answers were 503. */
  refused = 0
  readonly #options: RelayLoadOptions
  readonly #given: Promise<void>[] = []
  #names = 0
  #askerKey = ''

  constructor(options: RelayLoadOptions) {
    this.#options = options
  }

  /** Agents, policies and a key, known to all servers. */
  async begin(): Promise<void> {
    for (const id of AGENTS) await this.#make('/v1/agents', { id }, 'agent.created')
    const conditions = { 'context.amount': { $lte: 100 } }
    const rules = [
      { action: 'pay.create', effect: 'allow', conditions },
      { action: 'pay.create', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
    ]
    const budgets = [
      { limit: this.#options.budgetLimit, unit: 'EUR', period: 'total' },
      { limit: 1_000_000, unit: 'calls', period: 'daily', amount: 1, scope: 'agent' },
    ]
    for (const budget of budgets) {
      const { id } = await this.#make('/v1/policies', { name: budget.unit, rules, budget }, 'policy.created')
      this.policies.push(id)
    }
    const key = await this.#makeAsker()
    this.#askerKey = key.key
    for (const server of this.#options.servers)
      for (const path of [`/v1/policies/${this.policies[1]}`, `/v1/keys/${key.id}`])
        await this.#until(async () => (await server.call('GET', path)).status === 200)
  }

  /** The text is in the first answer alone: a key whose first answer was lost is of no use. */
  async #makeAsker(): Promise<AnyJson> {
    const key = await this.#make('/v1/keys', { name: 'asker', scopes: ['decisions:write'] }, 'key.created')
    return key.key === undefined ? this.#makeAsker() : key
  }

  /** @throws what went wrong first */
  async run(callers: number): Promise<void> {
    const failures: unknown[] = []
    const goOn = async (task: () => Promise<void>) => {
      try {
        while (!this.isOver && this.operations < this.#options.operations) await task()
      } catch (error) {
        failures.push(error)
        this.isOver = true
      }
    }
    const tasks = [() => this.#officeHour(), ...Array.from({ length: callers }, () => () => this.#live())]
    await Promise.all(tasks.map(goOn))
    this.isOver = true
    if (failures.length > 0) throw failures[0]
    // Answers that nobody waited for have to be the same.
    await Promise.all(this.#given)
  }

  /** The life of a decision. */
  async #live(): Promise<void> {
    const marker = this.#newName()
    const amount =
      Math.round(
        this.#below(
          this.#draw([
            [0.7, 100],
            [0.9, 1000],
            [1, 3000],
          ]),
        ) * 100,
      ) / 100
    const context = { amount, marker }
    const body = { agent_id: this.#pick(AGENTS), action: 'pay.create', context, holder: 'one' }
    const answer = await this.#succeed('/v1/decisions', body, 'asker', marker)
    const known = { answer, entries: ['decision.created'] }
    this.decisions.set(marker, known)
    if (answer.status === 'awaiting_review') await this.#review(known)
    if (known.answer.status === 'authorized') await this.#settle(known)
  }

  async #review(known: Known): Promise<void> {
    const dice = this.#options.random()
    if (dice < 0.2) return
    if (dice < 0.4) return this.#transition('decline', known)
    if (dice < 0.5) return this.#transition('reject', known, {}, { as: 'asker' })
    await this.#transition('approve', known, {}, { refusal: 'budget_exceeded' })
    if (known.answer.status === 'approved' && dice < 0.9)
      await this.#transition('claim', known, { holder: 'one' }, { as: 'asker' })
  }

  async #settle(known: Known): Promise<void> {
    const { amount } = known.answer.budgets[0]
    const isRedeemed = this.#options.random() < 0.2
    if (isRedeemed) await this.#redeem(known)
    const dice = this.#options.random()
    if (dice < 0.15) return
    if (dice < 0.5) await this.#transition('confirm', known)
    else if (dice < 0.65) await this.#transition('confirm', known, { amount: Math.round(amount * 50) / 100 })
    else if (dice < 0.85) await this.#transition('reject', known)
    else await this.#race(known)
    if (this.#options.random() < 0.15) await this.#correct(known)
  }

  async #redeem(known: Known): Promise<void> {
    const { permit_token } = known.answer
    known.answer = await this.#succeed('/v1/permits/redeem', { permit_token }, 'admin')
    known.entries.push('decision.redeemed')
  }

  async #correct(known: Known): Promise<void> {
    if (known.answer.status === 'confirmed') return this.#transition('correct', known, { result: 'rejected' })
    this.corrected += 500_000n
    await this.#transition('correct', known, { result: 'confirmed', amount: 0.5 })
  }

  /** Two calls of their own that say the same, or the contrary, at once. */
  async #race(known: Known): Promise<void> {
    const verbs = this.#options.random() < 0.5 ? ['confirm', 'confirm'] : ['confirm', 'reject']
    const answers = await Promise.all(verbs.map((verb) => this.#ask(`${pathOf(known)}/${verb}`, {}, 'admin')))
    const won = verbs.filter((_, i) => answers[i]?.status === 200)
    const isFair = verbs[0] === verbs[1] ? won.length === 2 : won.length === 1
    if (!isFair) throw new BrokenPromiseError(`${verbs} at once were answered ${answers.map(({ status }) => status)}`)
    this.operations += 1
    known.answer = answers.find(({ status }) => status === 200)?.body
    known.entries.push(ENTRY[won[0] as string] as string)
  }

  async #transition(
    verb: string,
    known: Known,
    body: object = {},
    { as = 'admin', refusal }: TransitionOptions = {},
  ): Promise<void> {
    const { status, body: answer } = await this.#ask(`${pathOf(known)}/${verb}`, body, as)
    this.operations += 1
    if (refusal !== undefined && answer.code === refusal) return
    if (status !== 200) throw new BrokenPromiseError(`${verb} was answered ${JSON.stringify(answer)}`)
    known.answer = answer
    known.entries.push(ENTRY[verb] as string)
  }

  /** An operator changes policies, keys and agents that nobody uses. */
  async #officeHour(): Promise<void> {
    const rules = [{ action: 'none.at-all', effect: 'allow' }]
    const policy = { name: this.#newName(), rules }
    const { id } = await this.#make('/v1/policies', policy, 'policy.created')
    await this.#replace(`/v1/policies/${id}`, { ...policy, description: 'again' })
    this.others.get(id)?.entries.push('policy.updated')
    await this.#remove(`/v1/policies/${id}`)
    this.others.get(id)?.entries.push('policy.deleted')

    const key = await this.#make('/v1/keys', { name: 'one more', scopes: ['audit:read'] }, 'key.created')
    await this.#change(`/v1/keys/${key.id}/rotate`, key.id, 'key.rotated')
    await this.#remove(`/v1/keys/${key.id}`)
    this.others.get(key.id)?.entries.push('key.revoked')

    const agent = `agent:${this.#newName()}`
    await this.#make('/v1/agents', { id: agent }, 'agent.created')
    await this.#change(`/v1/agents/${agent}/suspend`, agent, 'agent.suspended')
    await this.#change(`/v1/agents/${agent}/suspend`, agent, 'agent.suspended')
    await this.#change(`/v1/agents/${agent}/resume`, agent, 'agent.resumed')
    await this.#remove(`/v1/agents/${agent}`)
    this.others.get(agent)?.entries.push('agent.deleted')
  }

  async #make(path: string, body: object, entry: string): Promise<AnyJson> {
    const answer = await this.#succeed(path, body, 'admin')
    this.others.set(answer.id, { answer, entries: [entry] })
    return answer
  }

  async #change(path: string, id: string, entry: string): Promise<void> {
    const answer = await this.#succeed(path, {}, 'admin')
    this.others.get(id)?.entries.push(entry)
    Object.assign(this.others.get(id) as Known, { answer })
  }

  /** By the revision that it has: after a lost answer it tells whether it was this call that changed it. */
  async #replace(path: string, body: object): Promise<void> {
    await this.#until(async (server) => {
      const { status } = await server.call('PUT', path, { body, headers: { 'If-Match': '"1"' } })
      // The policy may not be known there yet, else it is there at revision 2.
      return status === 200 || status === 412
    })
  }

  async #remove(path: string): Promise<void> {
    let isSent = false
    await this.#until(async (server) => {
      const { status } = await server.call('DELETE', path)
      if (status === 204) return true
      // What a call without an answer has removed is not found any more.
      if (status === 404 && isSent) return true
      isSent ||= status === 503
      return false
    })
  }

  async #succeed(path: string, body: object, as: Who, name?: string): Promise<AnyJson> {
    const answer = await this.#ask(path, body, as, name)
    this.operations += 1
    if (answer.status < 300) return answer.body
    throw new BrokenPromiseError(`${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
  }

  /** Asks, by one idempotency key, until there is an answer. */
  async #ask(path: string, body: object, as: Who, name = this.#newName()): Promise<Answer> {
    const asked = { path, body, as, name }
    const given: Promise<Answer>[] = []
    for (const end = performance.now() + PERSEVERANCE_MS; performance.now() < end && !this.isOver; ) {
      const sent = this.send(this.#pick(this.#options.servers), asked)
      sent.catch(() => {})
      given.push(sent)
      const isPatient = this.#options.random() > IMPATIENCE
      const answer = await Promise.race([sent, ...(isPatient ? [] : [pause(this.#below(PATIENCE_MS), null)])])
      if (answer !== null && answer.status !== 503) return this.#acknowledge(asked, answer, given)
      if (answer !== null) {
        this.refused += 1
        await pause(this.#below(20))
      }
    }
    throw new BrokenPromiseError(`${path} is answered 503 for ever`)
  }

  async #acknowledge(asked: Asked, last: Answer, given: readonly Promise<Answer>[]): Promise<Answer> {
    let answer = last
    // Of two that ask for the last room at once one is refused, and it may be the one that was waited for.
    if (answer.body.code === 'budget_exceeded')
      answer = (await Promise.all(given)).find(({ status }) => status === 200) ?? last
    const same = this.#expectSame(asked, answer, given)
    same.catch(() => {})
    this.#given.push(same)
    if (answer.status < 300) this.acknowledged.push({ ...asked, status: answer.status, id: answer.body.id })
    return answer
  }

  /** The same call again. */
  send(server: RunningServer, { path, body, as, name }: Asked): Promise<Answer> {
    const key = as === 'asker' ? this.#askerKey : server.key
    return server.call('POST', path, { key, body, headers: { 'Idempotency-Key': name } })
  }

  /** A call that nobody waited for was answered as the one that was waited for, if at all. */
  async #expectSame({ path }: Asked, answer: Answer, given: readonly Promise<Answer>[]): Promise<void> {
    for (const other of await Promise.all(given)) {
      const isSame = other.status === answer.status && other.body.id === answer.body.id
      const isRefused = other.status === 503 || other.body.code === 'budget_exceeded'
      if (!isRefused && !isSame)
        throw new BrokenPromiseError(
          `${path} was answered ${answer.status} ${answer.body.id}, and again ${other.status} ${JSON.stringify(other.body)}`,
        )
    }
  }

  async #until(probe: (server: RunningServer) => Promise<boolean>): Promise<void> {
    for (const end = performance.now() + PERSEVERANCE_MS; performance.now() < end && !this.isOver; ) {
      if (await probe(this.#pick(this.#options.servers))) return
      await pause(this.#below(50))
    }
    throw new BrokenPromiseError('a change does not come through')
  }

  #newName(): string {
    return `relay-${this.#names++}`
  }

  #pick<T>(among: readonly T[]): T {
    return among[Math.floor(this.#below(among.length))] as T
  }

  #below(bound: number): number {
    return this.#options.random() * bound
  }

  /** What belongs to the first share that is not drawn beyond. */
  #draw(shares: readonly (readonly [share: number, value: number])[]): number {
    const dice = this.#options.random()
    return (shares.find(([share]) => dice < share) ?? (shares.at(-1) as readonly [number, number]))[1]
  }
}

function pathOf({ answer: { id } }: Known): string {
  return `/v1/decisions/${id}`
}
