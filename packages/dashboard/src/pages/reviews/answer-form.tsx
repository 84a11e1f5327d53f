import type { DecisionDetail } from '@countersign/contract'
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client'
import { approve, decline } from '../../api/decisions'
import { useOnceKey } from '../../api/once'
import type { AfterApproval } from '../../api/reviews'
import { visibleText } from '../../components/invisible'
import type { UnsentNote } from '../../unsent-notes'
import { isRefused } from './approval-effect'
import { Refusal } from './refusal'
import type { Answer } from './review-row'
import classes from './reviews.module.css'

const NOTE_LENGTH = 512

export interface AnswerFormProps {
  readonly decision: DecisionDetail
  readonly answer: Answer
  /** False when the review can no longer be answered. */
  readonly isOpen: boolean
  readonly after: AfterApproval | null
  readonly note: UnsentNote
  readonly onClose: () => void
  readonly onDone: (decision: DecisionDetail, answer: Answer) => Promise<void>
}

/** The mutation key of a running answer. */
export const answerKey = (id: string) => ['answer', id]

/** The confirmation of an answer, with a field for a note. */
export function AnswerForm({ decision, answer, isOpen, after, note, onClose, onDone }: AnswerFormProps) {
  const client = useQueryClient()
  const [exceed, setExceed] = useState(false)
  const { id } = decision
  const { key } = useOnceKey()
  const isApproval = answer === 'approve'
  const send = useMutation({
    mutationKey: answerKey(id),
    mutationFn: () => {
      const written = note.text.trim()
      const comment = written === '' ? {} : { comment: written }
      return isApproval
        ? approve(id, { ...comment, ...(exceed && { exceed_budget: true }) }, key)
        : decline(id, comment, key)
    },
    onSuccess() {
      note.write('')
      return onDone(decision, answer)
    },
    // The page may show outdated data.
    onError: () => {
      for (const key of ['reviews', 'budgets', 'decision']) void client.invalidateQueries({ queryKey: [key] })
    },
  })

  const noteField = useRef<HTMLInputElement>(null)
  const confirm = useRef<HTMLButtonElement>(null)
  useEffect(() => (isApproval ? confirm : noteField).current?.focus(), [isApproval])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!send.isPending && !isApprovalRefused) send.mutate()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // A running answer stays open, so that the user sees its result.
    if (event.key === 'Escape' && !send.isPending) onClose()
    // Holding Enter down must not confirm.
    if (event.key === 'Enter' && event.repeat) event.preventDefault()
  }

  if (!isOpen)
    return note.text.trim() === '' ? null : (
      <Text size="sm" className="quiet">
        Your note was not sent: {visibleText(note.text)}
      </Text>
    )
  const limits = excessOf(after, send.error)
  const isApprovalRefused = isApproval && isRefused(after)
  return (
    <form
      onSubmit={submit}
      onKeyDown={onKeyDown}
      aria-label={`${isApproval ? 'Approve' : 'Decline'} ${decision.action}`}
    >
      <Stack gap="xs" className={classes.form}>
        {isApprovalRefused && (
          <Text size="sm" className={classes.over}>
            {limits === 'fixed'
              ? 'This is more than a budget has left, and its policy does not let reviewers exceed it. Approve it when the budget has room, raise the limit in the policy, or decline it.'
              : 'The server would not accept an approval right now. You can approve it here as soon as it does.'}
          </Text>
        )}
        <TextInput
          ref={noteField}
          label="Note (optional)"
          description="Stored with the decision. The agent can read it."
          maxLength={NOTE_LENGTH}
          value={note.text}
          onChange={(event) => note.write(event.currentTarget.value)}
        />
        {isApproval && limits === 'may_exceed' && (
          <Checkbox
            label="Exceed the budget"
            description="It has no room for this, but its policy lets a reviewer exceed it."
            checked={exceed}
            onChange={(event) => setExceed(event.currentTarget.checked)}
          />
        )}
        {send.isError && <Refusal error={send.error} decision={decision} />}
        <Group gap="xs" justify="flex-end">
          <Button size="xs" variant="default" onClick={onClose} disabled={send.isPending}>
            Cancel
          </Button>
          {!isApprovalRefused && (
            <Button
              ref={confirm}
              size="xs"
              type="submit"
              loading={send.isPending}
              {...(!isApproval && { color: 'red.9' })}
            >
              {!isApproval ? 'Decline' : exceed ? 'Approve and exceed the budget' : 'Approve'}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  )
}

/** Whether the approval exceeds budgets, and whether a reviewer may exceed them, as far as known. */
function excessOf(after: AfterApproval | null, error: unknown): 'none' | 'may_exceed' | 'fixed' {
  const exceeded = (after?.budgets ?? []).filter(({ exceeds }) => exceeds)
  if (exceeded.length > 0) return exceeded.every((budget) => budget.may_exceed) ? 'may_exceed' : 'fixed'
  return error instanceof ApiError && error.problem?.code === 'budget_exceeded' ? 'may_exceed' : 'none'
}
