import { z } from 'zod'
import { DecisionBudgetSchema, REASON_CODES, ShadowSchema } from './decision.js'
import { DecisionRequestSchema } from './decision-request.js'
import { EFFECTS } from './effect.js'
import { ExplanationSchema } from './explanation.js'
import { countedItem } from './fault-count.js'
import { PolicyIdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { SimulatedPolicySchema } from './policy.js'

/** With a repeated id, it would be undefined which of the two policies decides a tie. */
const PoliciesSchema = z.array(countedItem(SimulatedPolicySchema)).superRefine((policies, ctx) => {
  const seen = new Set<string>()
  for (const [index, { id }] of policies.entries()) {
    if (id === undefined) continue
    if (seen.has(id)) ctx.addIssue({ code: 'custom', path: [index, 'id'], message: 'is the id of another policy too' })
    seen.add(id)
  }
})

/** `policies` replaces the stored set; null or absent uses the stored one. */
export const SimulateRequestSchema = z
  .strictObject({ request: DecisionRequestSchema, policies: PoliciesSchema.nullish() })
  .refine(({ request }) => new TextEncoder().encode(JSON.stringify(request)).length <= LIMITS.decisionBodyBytes, {
    path: ['request'],
    error: `must be at most ${LIMITS.decisionBodyBytes} bytes of JSON, as the body of a decision`,
  })
  .meta({ id: 'SimulateRequest', title: 'Simulation' })
export type SimulateRequest = Immutable<z.infer<typeof SimulateRequestSchema>>

/** The decision that would be made. Nothing is stored, no permit is issued, and balances are only read. */
export const SimulateResponseSchema = z
  .strictObject({
    effect: z.enum(EFFECTS),
    reason: z.string().nullable(),
    reason_code: z.enum(REASON_CODES),
    policy_id: PolicyIdSchema,
    rule: z.int().nullable(),
    budgets: z.array(DecisionBudgetSchema),
    shadow: z.array(ShadowSchema),
    explanation: ExplanationSchema,
  })
  .meta({ id: 'SimulateResponse' })
export type SimulateResponse = Immutable<z.infer<typeof SimulateResponseSchema>>
