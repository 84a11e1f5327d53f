import { z } from 'zod'
import type { JsonObject } from './json.js'
import { TimestampSchema } from './timestamp.js'

export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const
export type Effect = (typeof EFFECTS)[number]

export type Scalar = string | number | boolean
export interface Ref {
  readonly $ref: string
}
/** Operators on one path; all have to hold. */
export interface OperatorObject {
  readonly $eq?: Scalar | Ref
  readonly $ne?: Scalar | Ref
  readonly $lt?: string | number | Ref
  readonly $lte?: string | number | Ref
  readonly $gt?: string | number | Ref
  readonly $gte?: string | number | Ref
  readonly $in?: readonly Scalar[] | Ref
  readonly $nin?: readonly Scalar[] | Ref
  readonly $contains?: Scalar | Ref
  readonly $exists?: boolean
  readonly $like?: string
  readonly $cidr?: string | readonly string[]
}
/** Path -> operators, and the groups `$or`, `$and` (lists of conditions) and `$not`; all members have to hold. */
export type Conditions = { readonly [pathOrGroup: string]: OperatorObject | readonly Conditions[] | Conditions }

export interface Rule {
  readonly action: string
  readonly resource?: string
  readonly effect: Effect
  readonly conditions?: Conditions
  readonly reason?: string
  readonly on_unknown?: 'deny' | 'skip'
}
export type BudgetPeriod = 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total'
export interface Budget {
  readonly limit: number
  readonly unit: string
  readonly period: BudgetPeriod
  readonly actions?: readonly string[]
  readonly amount?: string | number
  readonly currency?: string
  readonly scope?: 'policy' | 'agent'
  readonly on_exceed?: 'deny' | 'review'
}
/** A policy as a person writes it. */
export interface PolicyDocument {
  readonly name: string
  readonly description?: string
  readonly priority?: number
  readonly enabled?: boolean
  readonly mode?: 'enforce' | 'shadow'
  readonly agents?: readonly string[]
  readonly rules: readonly Rule[]
  readonly budget?: Budget
}
