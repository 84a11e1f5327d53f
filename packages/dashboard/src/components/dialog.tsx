import { Button, Group, Modal, type ModalProps } from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import classes from './dialog.module.css'

export interface DialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  readonly size?: ModalProps['size']
  /** If true, only a button inside closes the dialog. `DialogButtons` also keeps it open while an action runs. */
  readonly isSticky?: boolean
  /** Mounted again each time the dialog opens. */
  readonly children: ReactNode
}

const HoldContext = createContext<(isHeld: boolean) => void>(() => {})

export interface DialogButtonsProps {
  /** The label of the second button. */
  readonly action: string
  readonly onCancel: () => void
  /** Runs the action. If absent, the button submits the surrounding form. */
  readonly onAct?: () => void
  /** Whether the action is running. The dialog stays open until it ends, so that the user sees the result. */
  readonly isPending: boolean
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}

/** The last row of a dialog: `Cancel` and the action. */
export function DialogButtons(props: DialogButtonsProps) {
  const { action, onCancel, onAct, isPending, isDangerous = false, isDisabled = false } = props
  const hold = useContext(HoldContext)
  useEffect(() => {
    hold(isPending)
    return () => hold(false)
  }, [hold, isPending])
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={onCancel} disabled={isPending}>
        Cancel
      </Button>
      <Button
        {...(onAct === undefined ? { type: 'submit' } : { onClick: onAct })}
        {...(isDangerous && { color: 'red.9' })}
        disabled={isDisabled}
        loading={isPending}
      >
        {action}
      </Button>
    </Group>
  )
}

/** A modal dialog. A click outside does not close it, because typed text would be lost. */
export function Dialog({ title, opened, onClose, isSticky = false, size = 'md', children }: DialogProps) {
  const [isHeld, hold] = useState(false)
  return (
    <Modal.Root
      opened={opened}
      onClose={onClose}
      size={size}
      closeOnClickOutside={false}
      closeOnEscape={!isSticky && !isHeld}
      transitionProps={{ duration: 0 }}
    >
      <Modal.Overlay />
      <Modal.Content className={classes.content ?? ''}>
        {/* A dialog has no banner landmark. */}
        <Modal.Header role="presentation">
          <Modal.Title className={classes.title ?? ''}>{title}</Modal.Title>
          {!isSticky && <Modal.CloseButton aria-label="Close" disabled={isHeld} />}
        </Modal.Header>
        <Modal.Body>
          <HoldContext value={hold}>{children}</HoldContext>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
