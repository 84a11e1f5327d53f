import { z } from 'zod'
import { SpentAmountSchema } from './amount.js'
import { HolderSchema } from './decision-request.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { textOf } from './names.js'

const text = () => textOf(0, LIMITS.reasonLength).nullish()
const amount = SpentAmountSchema.nullish().meta({
  description:
    'The amount that was actually spent, in the unit of the budgets. Default: the reserved amount of each budget.',
})

/** The action happened. */
export const ConfirmSchema = z.strictObject({ amount, note: text() }).meta({ id: 'Confirm', title: 'Confirmation' })
export type Confirm = Immutable<z.infer<typeof ConfirmSchema>>

/** The action did not happen. */
export const RejectSchema = z.strictObject({ reason: text() }).meta({ id: 'Reject', title: 'Rejection' })
export type Reject = Immutable<z.infer<typeof RejectSchema>>

/** An operator's correction of the reported outcome. */
export const CorrectSchema = z
  .strictObject({ result: z.enum(['confirmed', 'rejected']), amount, note: text() })
  .refine(({ result, amount }) => result === 'confirmed' || amount === undefined || amount === null, {
    path: ['amount'],
    error: 'is for the result confirmed only',
  })
  .meta({ id: 'Correct', title: 'Correction' })
export type Correct = Immutable<z.infer<typeof CorrectSchema>>

/** A person's approval, which lets a reviewed action proceed. */
export const ApproveSchema = z
  .strictObject({
    comment: text(),
    exceed_budget: z.boolean().nullish().meta({
      description: 'Approve above the limit of budgets with `on_exceed: review`. Default: false.',
    }),
  })
  .meta({ id: 'Approve', title: 'Approval' })
export type Approve = Immutable<z.infer<typeof ApproveSchema>>

/** A person's refusal of a reviewed action. */
export const DeclineSchema = z.strictObject({ comment: text() }).meta({ id: 'Decline', title: 'Declining' })
export type Decline = Immutable<z.infer<typeof DeclineSchema>>

/** A holder takes an approved action to run it. A null holder counts as absent, which makes the call its own holder. */
export const ClaimSchema = z.strictObject({ holder: HolderSchema.nullish() }).meta({ id: 'Claim', title: 'Claim' })
export type Claim = Immutable<z.infer<typeof ClaimSchema>>
