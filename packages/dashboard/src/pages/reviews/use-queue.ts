/** The state of the queue: its reviews, the current one, and the open answers. */
import type { DecisionDetail } from '@countersign/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Everything } from '../../api/every-page'
import { waitingReviews } from '../../api/reviews'
import { answerKey } from './answer-form'
import { neighbourOf, queueOf } from './queue'
import type { Answer } from './review-row'

/** How many cards are shown at first. */
const SHOWN = 25
/** A fallback for when live events do not arrive. */
const REFRESH_MS = 30_000
/** The queries that an answer affects. */
const CHANGED = ['reviews', 'budgets', 'decisions', 'decision', 'stats']

export interface Answering {
  readonly decision: DecisionDetail
  readonly answer: Answer
}

/** Keeps the review that the user looks at or answers in its place while the rest of the queue changes. */
export function useQueue(agentId: string | undefined) {
  const client = useQueryClient()
  const queryKey = ['reviews', 'waiting', agentId ?? null]
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => waitingReviews(agentId, signal),
    refetchInterval: REFRESH_MS,
  })
  const [current, setCurrent] = useState<DecisionDetail | null>(null)
  const [answering, setAnswering] = useState<ReadonlyMap<string, Answering>>(new Map())
  const [answered, setAnswered] = useState<Answering | null>(null)
  const [shown, setShown] = useState(SHOWN)

  const waiting = query.data?.items ?? []
  const held = [...answering.values()].map(({ decision }) => decision)
  const groups = queueOf(waiting, current === null ? held : [current, ...held])
  const reviews = groups.flatMap((group) => group.reviews)
  const ids = reviews.map(({ decision }) => decision.id)

  const list = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState<{ readonly id: string | null } | null>(null)
  useEffect(() => {
    if (focused === null) return
    const row = list.current?.querySelector<HTMLElement>(`[data-review="${focused.id}"]`)
    // After the last answer, the focus stays in the list.
    const target = row ?? list.current
    target?.focus()
  }, [focused])

  const goTo = (id: string | null) => {
    const at = groups.findIndex((group) => group.reviews.some(({ decision }) => decision.id === id))
    setShown(Math.max(shown, at + 1))
    setCurrent(reviews.find(({ decision }) => decision.id === id)?.decision ?? null)
    setFocused({ id })
  }
  const stopAnswering = (id: string) => setAnswering((before) => new Map([...before].filter(([other]) => other !== id)))
  const leave = (id: string) => {
    stopAnswering(id)
    goTo(neighbourOf(ids, id))
  }

  return {
    query,
    list,
    groups: groups.slice(0, shown),
    hidden: Math.max(0, groups.length - shown),
    showMore: () => setShown(shown + SHOWN),
    waiting: waiting.length,
    current: reviews.find(({ decision }) => decision.id === current?.id) ?? null,
    look: setCurrent,
    answering,
    answered,
    /** Moves to the next or previous review, or to the first. */
    move(by: 1 | -1) {
      const at = current === null ? -1 : ids.indexOf(current.id)
      goTo(ids[Math.min(Math.max(at + by, 0), ids.length - 1)] ?? null)
    },
    /** Opens the confirmation. Nothing is sent yet. */
    open(decision: DecisionDetail, answer: Answer) {
      setCurrent(decision)
      if (client.isMutating({ mutationKey: answerKey(decision.id) }) > 0) return
      setAnswering((before) => new Map(before).set(decision.id, { decision, answer }))
    },
    close(id: string) {
      stopAnswering(id)
      goTo(id)
    },
    leave,
    async done(decision: DecisionDetail, answer: Answer) {
      // A running read would bring the answered review back.
      await client.cancelQueries({ queryKey })
      client.setQueryData<Everything<DecisionDetail>>(
        queryKey,
        (data) => data && { ...data, items: data.items.filter(({ id }) => id !== decision.id) },
      )
      setAnswered({ decision, answer })
      leave(decision.id)
      for (const key of CHANGED) void client.invalidateQueries({ queryKey: [key] })
    },
  }
}
