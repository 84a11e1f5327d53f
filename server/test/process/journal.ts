/** What callers were told. Every change that was acknowledged has to be there later; one that was not may be. */
import { type Answer, call } from './call.js'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: object | undefined
  /** Unique; also sent as Idempotency-Key. */
  readonly name: string
}

/** One object that a single caller changes, one step after the other. */
interface Tracked {
  acknowledged: string
  /** What an unanswered step would have made of it. */
  possible: string | null
}

export class Journal {
  /** Decisions as they were answered, by the name of the request. */
  readonly decisions = new Map<string, Answer['body']>()
  /** The text of every key that was answered, by id. */
  readonly keyTexts = new Map<string, string>()
  /** States of policies, keys and agents by id. */
  readonly objects = new Map<string, Tracked>()
  /** What got no answer: at most one for each caller. */
  unanswered: Asked[] = []
  answers = 0

  /** @returns the answer, null when there was none */
  async ask(url: string, key: string, asked: Asked): Promise<Answer | null> {
    const headers = { 'Idempotency-Key': asked.name }
    try {
      const answer = await call(url, asked.method, asked.path, { key, body: asked.body, headers })
      this.answers += 1
      return answer
    } catch {
      this.unanswered.push(asked)
      return null
    }
  }

  /** Takes an object from one state to the next, as far as the answer says. */
  settle(id: string, next: string, isAnswered: boolean): void {
    const tracked = this.objects.get(id)
    if (isAnswered) this.objects.set(id, { acknowledged: next, possible: null })
    else if (tracked !== undefined) tracked.possible = next
  }

  /** After a restart: what was seen is the truth from now on. @returns what is wrong with it, null when nothing is */
  observe(id: string, seen: string): string | null {
    const tracked = this.objects.get(id)
    if (tracked === undefined) return `${id} was never acknowledged, and was not asked for again`
    const { acknowledged, possible } = tracked
    this.objects.set(id, { acknowledged: seen, possible: null })
    if (seen === acknowledged || seen === possible) return null
    return `${id} is ${seen}; acknowledged was ${acknowledged}, possible ${possible}`
  }
}
