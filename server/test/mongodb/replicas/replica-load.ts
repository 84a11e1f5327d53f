import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../process/call.js'
import type { ShippedServer } from '../../process/shipped-server.js'

interface Asked {
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: a decision's request, or nothing
  readonly body: any
  /** Also the idempotency key. */
  readonly name: string
  /** The context's marker of the decision that it is about. */
  readonly marker: string
}

export interface Seen extends Asked {
  readonly sentAt: number
  readonly at: number
  /** Null when no answer came. */
  readonly answer: Answer | null
}

/** Whom all callers of a load speak for. */
export const LOAD_AGENT = 'agent:load'

/** Callers who decide and settle, each call at any of the replicas, and what they were told. */
export class ReplicaLoad {
  readonly seen: Seen[] = []
  /** Each decision as it was acknowledged last, by its marker. */
  readonly acknowledged = new Map<string, { readonly id: string; readonly status: string }>()
  /** What was not answered by a success: whether it happened is not known. */
  readonly unknown: Asked[] = []
  private isOver = false
  private names = 0

  constructor(
    private readonly random: () => number,
    private readonly pick: () => ShippedServer,
  ) {}

  run(callers: number): Promise<unknown> {
    return Promise.all(
      Array.from({ length: callers }, async () => {
        while (!this.isOver) await this.visit()
      }),
    )
  }

  stop(): void {
    this.isOver = true
  }

  /** One caller decides, and may settle. */
  async visit(): Promise<void> {
    const marker = this.newName()
    const context = { amount: Math.round(this.random() * 1000) / 100, marker }
    const body = { agent_id: LOAD_AGENT, action: 'pay.create', context }
    const decision = await this.ask('/v1/decisions', body, marker)
    if (decision === null || this.random() < 0.2) return
    const isConfirmed = this.random() < 0.6
    await this.ask(`/v1/decisions/${decision.id}/${isConfirmed ? 'confirm' : 'reject'}`, {}, marker)
  }

  /** Sends what has no known outcome once more; what has none again stays. */
  async askAgain(callers = 6): Promise<void> {
    const left = this.unknown.splice(0)
    const caller = async () => {
      for (let asked = left.shift(); asked !== undefined; asked = left.shift()) await this.send(asked)
    }
    await Promise.all(Array.from({ length: callers }, caller))
  }

  private async ask(path: string, body: object, marker: string): Promise<Answer['body'] | null> {
    const answer = await this.send({ path, body, name: this.newName(), marker })
    // Some patience, if not all that `Retry-After` asks for.
    if (answer === null) await sleep(200 * this.random())
    return answer
  }

  private async send(asked: Asked): Promise<Answer['body'] | null> {
    const { path, body, name, marker } = asked
    const sentAt = performance.now()
    const answer = await this.pick()
      .call('POST', path, { body, headers: { 'Idempotency-Key': name } })
      .catch(() => null)
    this.seen.push({ ...asked, sentAt, at: performance.now(), answer })
    if (answer?.status === 200) {
      this.acknowledged.set(marker, answer.body)
      return answer.body
    }
    if (answer !== null && answer.status !== 503)
      throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    this.unknown.push(asked)
    return null
  }

  private newName(): string {
    return `name-${this.names++}`
  }
}

/** How often which answer came. */
export function tally(seen: readonly Seen[]): string {
  const counts: Record<string, number> = {}
  for (const { answer } of seen) {
    const what = answer === null ? 'none' : (answer.body.code ?? answer.status)
    counts[what] = (counts[what] ?? 0) + 1
  }
  return JSON.stringify(counts)
}
