import { readFileSync } from 'node:fs'
import type { JsonObject, Shadow } from '@countersign/contract'
import type { EnginePolicy, EngineRequest } from '@countersign/engine'
import type { Pair } from './random-pair.js'

/** A decision as data: the world in which it is asked, and the answer. */
export interface GoldenCase {
  readonly id: string
  /** What a newcomer learns from it; only in the cases written by hand. */
  readonly description?: string
  readonly case: {
    readonly now: string
    /** The registered agents by id. */
    readonly agents: Readonly<Record<string, { readonly suspended: boolean; readonly metadata: JsonObject }>>
    readonly policies: readonly Omit<EnginePolicy, 'revision'>[]
    readonly request: Pick<EngineRequest, 'agent_id' | 'action'> & Partial<EngineRequest>
  }
  readonly expect: {
    readonly effect: string
    readonly policy_id: string
    readonly rule: number | null
    readonly reason_code: string
    readonly shadow: readonly Shadow[]
  }
}

const FOLDER = new URL('../cases/', import.meta.url)

/** The cases on which two independent models of the contract agree. */
export function readAgreedCases(): GoldenCase[] {
  const lines = readFileSync(new URL('evaluate.jsonl', FOLDER), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as GoldenCase)
}

/** The cases written by hand, a file for each part of the semantics. */
export function readTaughtCases(file: string): GoldenCase[] {
  return JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as GoldenCase[]
}

export function pairOf({ case: given }: Pick<GoldenCase, 'case'>): Pair {
  const { agent_id, action, resource = null, context = null } = given.request
  const agent = Object.hasOwn(given.agents, agent_id) ? given.agents[agent_id] : undefined
  return {
    policies: given.policies.map((policy) => ({ ...policy, revision: 1 })),
    request: { agent_id, action, resource, context },
    facts: { now: new Date(given.now), suspended: agent?.suspended ?? false, metadata: agent?.metadata ?? null },
  }
}
