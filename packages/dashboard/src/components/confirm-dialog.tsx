import { Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Dialog, DialogButtons } from './dialog'
import { ErrorNotice } from './notice'

export interface ConfirmDialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  /** The label of the confirming button. */
  readonly action: string
  /** Runs the action. Then the dialog closes, or shows the error. */
  readonly run: () => Promise<unknown>
  readonly isDangerous?: boolean
  /** The consequences, and any inputs. */
  readonly children: ReactNode
}

/** Asks for confirmation before an action, and states its consequences. */
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
