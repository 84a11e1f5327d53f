import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../process/call.js'
import type { ShippedServer } from '../../process/shipped-server.js'

interface Asked {
  readonly path: string
  readonly body: object
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
    return Promise.all(Array.from({ length: callers }, () => this.call()))
  }

  stop(): void {
    this.isOver = true
  }

  private async call(): Promise<void> {
    while (!this.isOver) {
      const marker = this.newName()
      const context = { amount: Math.round(this.random() * 1000) / 100, marker }
      const decision = await this.ask('/v1/decisions', { agent_id: 'agent:a', action: 'pay.create', context }, marker)
      if (decision === null || this.random() < 0.2) continue
      const isConfirmed = this.random() < 0.6
      await this.ask(`/v1/decisions/${decision.id}/${isConfirmed ? 'confirm' : 'reject'}`, {}, marker)
    }
  }

  private async ask(path: string, body: object, marker: string): Promise<Answer['body'] | null> {
    const asked = { path, body, name: this.newName(), marker }
    const sentAt = performance.now()
    const answer = await this.send(this.pick(), asked).catch(() => null)
    this.seen.push({ ...asked, sentAt, at: performance.now(), answer })
    if (answer?.status === 200) {
      this.acknowledged.set(marker, answer.body)
      return answer.body
    }
    if (answer !== null && answer.status !== 503)
      throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    this.unknown.push(asked)
    // Some patience, if not all that `Retry-After` asks for.
    await sleep(50 * this.random())
    return null
  }

  /** The same call again. */
  send(server: ShippedServer, { path, body, name }: Asked): Promise<Answer> {
    return server.call('POST', path, { body, headers: { 'Idempotency-Key': name } })
  }

  private newName(): string {
    return `name-${this.names++}`
  }
}
