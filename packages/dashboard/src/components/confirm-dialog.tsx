import { Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog, DialogButtons } from './dialog'
import { ErrorNotice } from './notice'

export interface ConfirmDialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  /** What the button says: the deed itself. */
  readonly action: string
  /** Does it. The dialog closes afterwards, or says what failed. */
  readonly run: () => Promise<unknown>
  readonly isDangerous?: boolean
  /** What follows from it, and inputs if there are any. */
  readonly children: ReactNode
}

/** Asks before something is done, and says what follows. */
export function ConfirmDialog({ title, opened, onClose, ...rest }: ConfirmDialogProps) {
  return (
    <Dialog title={title} opened={opened} onClose={onClose}>
      <Question onClose={onClose} {...rest} />
    </Dialog>
  )
}

function Question(props: Omit<ConfirmDialogProps, 'title' | 'opened'>) {
  const { onClose, action, run, isDangerous = false, children } = props
  const deed = useMutation({ mutationFn: run, onSuccess: onClose })
  return (
    <Stack gap="md">
      <div>{children}</div>
      {deed.isError && <ErrorNotice error={deed.error} />}
      <DialogButtons
        action={action}
        onCancel={onClose}
        isPending={deed.isPending}
        onAct={() => deed.mutate()}
        isDangerous={isDangerous}
      />
    </Stack>
  )
}
