import type { DecisionDetail } from '@countersign/contract'
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client'
import { approve, decline } from '../../api/decisions'
import { useOnceKey } from '../../api/once'
import type { AfterApproval } from '../../api/reviews'
import { visibleText } from '../../components/invisible'
import { Refusal } from './refusal'
import type { Answer } from './review-row'
import classes from './reviews.module.css'

const NOTE_LENGTH = 512

export interface AnswerFormProps {
  readonly decision: DecisionDetail
  readonly answer: Answer
  /** False when there is nothing to answer any more. */
  readonly isOpen: boolean
  readonly after: AfterApproval | null
  readonly onClose: () => void
  readonly onDone: (decision: DecisionDetail, answer: Answer) => Promise<void>
}

/** Of an answer that is under way. */
export const answerKey = (id: string) => ['answer', id]

/** Asks once more, with room for a note. */
export function AnswerForm({ decision, answer, isOpen, after, onClose, onDone }: AnswerFormProps) {
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const [exceed, setExceed] = useState(false)
  const { id } = decision
  const { key } = useOnceKey()
  const isApproval = answer === 'approve'
  const send = useMutation({
    mutationKey: answerKey(id),
    mutationFn: () => {
      const comment = note.trim() === '' ? {} : { comment: note.trim() }
      return isApproval
        ? approve(id, { ...comment, ...(exceed && { exceed_budget: true }) }, key)
        : decline(id, comment, key)
    },
    onSuccess: () => onDone(decision, answer),
    // What is shown of it may be old.
    onError: () => {
      for (const key of ['reviews', 'budgets', 'decision']) void client.invalidateQueries({ queryKey: [key] })
    },
  })

  const noteField = useRef<HTMLInputElement>(null)
  const confirm = useRef<HTMLButtonElement>(null)
  useEffect(() => (isApproval ? confirm : noteField).current?.focus(), [isApproval])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!send.isPending) send.mutate()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // What comes of it has to be seen.
    if (event.key === 'Escape' && !send.isPending) onClose()
    // A key that is held down confirms nothing.
    if (event.key === 'Enter' && event.repeat) event.preventDefault()
  }

  if (!isOpen)
    return note.trim() === '' ? null : (
      <Text size="sm" className="quiet">
        Your note was not sent: {visibleText(note)}
      </Text>
    )
  const limits = excessOf(after, send.error)
  return (
    <form
      onSubmit={submit}
      onKeyDown={onKeyDown}
      aria-label={`${isApproval ? 'Approve' : 'Decline'} ${decision.action}`}
    >
      <Stack gap="xs" className={classes.form}>
        {isApproval && limits === 'fixed' && (
          <Text size="sm" className={classes.over}>
            This is more than a budget has left, and its policy lets nobody exceed it. Approve it when the budget has
            room, raise the limit in the policy, or decline.
          </Text>
        )}
        <TextInput
          ref={noteField}
          label="Note (optional)"
          description="Kept with the decision. The agent can read it."
          maxLength={NOTE_LENGTH}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {isApproval && limits === 'may_exceed' && (
          <Checkbox
            label="Exceed the budget"
            description="It has no room for this. Its policy leaves that to a reviewer."
            checked={exceed}
            onChange={(event) => setExceed(event.currentTarget.checked)}
          />
        )}
        {send.isError && <Refusal error={send.error} decision={decision} />}
        <Group gap="xs" justify="flex-end">
          <Button size="xs" variant="default" onClick={onClose} disabled={send.isPending}>
            Cancel
          </Button>
          <Button
            ref={confirm}
            size="xs"
            type="submit"
            loading={send.isPending}
            {...(!isApproval && { color: 'red.9' })}
          >
            {!isApproval ? 'Decline' : exceed ? 'Approve and exceed the budget' : 'Approve'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Whether budgets stand in the way, and whether a reviewer may pass by them: as far as known. */
function excessOf(after: AfterApproval | null, error: unknown): 'none' | 'may_exceed' | 'fixed' {
  const exceeded = (after?.budgets ?? []).filter(({ exceeds }) => exceeds)
  if (exceeded.length > 0) return exceeded.every((budget) => budget.may_exceed) ? 'may_exceed' : 'fixed'
  return error instanceof ApiError && error.problem?.code === 'budget_exceeded' ? 'may_exceed' : 'none'
}
