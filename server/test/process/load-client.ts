import type { Answer } from './call.js'
import type { Journal } from './journal.js'

/**
 * One caller: decides, and writes, changes and removes a policy, keys and an agent of its own, one request after the
 * other, until one gets no answer.
 */
export class LoadClient {
  private asked = 0
  private policyId: string | null = null
  private policyText = ''
  private keyIds: string[] = []

  constructor(
    private readonly name: string,
    private readonly journal: Journal,
    private readonly random: () => number,
  ) {}

  /** Resolves when a request got no answer. */
  async run(url: string, key: string): Promise<void> {
    const ask = async (method: string, path: string, body?: object): Promise<Answer | null> => {
      const name = `${this.name}-${this.asked}`
      this.asked += 1
      const answer = await this.journal.ask(url, key, { method, path, body, name })
      if (answer !== null && answer.status >= 300)
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      return answer
    }
    for (;;) {
      const dice = this.random()
      const isAnswered = await (dice < 0.6
        ? this.decide(ask)
        : dice < 0.75
          ? this.writePolicy(ask)
          : dice < 0.9
            ? this.writeKey(ask)
            : this.switchAgent(ask))
      if (!isAnswered) return
    }
  }

  private async decide(ask: Ask): Promise<boolean> {
    const name = `${this.name}-${this.asked}`
    const answer = await ask('POST', '/v1/decisions', {
      agent_id: `agent:${this.name}`,
      action: this.random() < 0.8 ? 'payment.refund' : `own.${this.name}`,
      context: { amount: Math.floor(this.random() * 1500), marker: name },
      holder: name,
    })
    if (answer !== null) this.journal.decisions.set(name, answer.body)
    return answer !== null
  }

  private async writePolicy(ask: Ask): Promise<boolean> {
    this.policyText = `${this.name}-${this.asked}`
    const rules = [{ action: `own.${this.name}`, effect: 'allow' }]
    const policy = { name: this.name, description: this.policyText, agents: [`agent:${this.name}`], rules }
    if (this.policyId === null) {
      const answer = await ask('POST', '/v1/policies', policy)
      if (answer === null) return false
      this.policyId = answer.body.id as string
      this.journal.settle(this.policyId, this.policyText, true)
      return true
    }
    const id = this.policyId
    const isDeletion = this.random() < 0.3
    const answer = await (isDeletion ? ask('DELETE', `/v1/policies/${id}`) : ask('PUT', `/v1/policies/${id}`, policy))
    this.journal.settle(id, isDeletion ? 'deleted' : this.policyText, answer !== null)
    if (isDeletion) this.policyId = null
    return answer !== null
  }

  private async writeKey(ask: Ask): Promise<boolean> {
    const id = this.random() < 0.5 ? this.keyIds.pop() : undefined
    if (id !== undefined) {
      const answer = await ask('DELETE', `/v1/keys/${id}`)
      this.journal.settle(id, 'revoked', answer !== null)
      return answer !== null
    }
    const answer = await ask('POST', '/v1/keys', { name: `${this.name}-${this.asked}`, scopes: ['decisions:write'] })
    if (answer === null) return false
    this.keyIds.push(answer.body.id)
    this.journal.keyTexts.set(answer.body.id, answer.body.key)
    this.journal.settle(answer.body.id, 'live', true)
    return true
  }

  private async switchAgent(ask: Ask): Promise<boolean> {
    const id = `switched:${this.name}`
    const isSuspended = this.journal.objects.get(id)?.acknowledged === 'suspended'
    const answer = await ask('POST', `/v1/agents/${id}/${isSuspended ? 'resume' : 'suspend'}`, {})
    if (answer === null && !this.journal.objects.has(id)) this.journal.settle(id, 'resumed', true)
    this.journal.settle(id, isSuspended ? 'resumed' : 'suspended', answer !== null)
    return answer !== null
  }
}

type Ask = (method: string, path: string, body?: object) => Promise<Answer | null>
