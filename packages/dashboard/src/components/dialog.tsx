import { Button, Group, Modal, type ModalProps } from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import classes from './dialog.module.css'

export interface DialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  readonly size?: ModalProps['size']
  /** Only a button inside closes it. What is under way in it holds it open too: see `DialogButtons`. */
  readonly isSticky?: boolean
  /** It is made anew each time the dialog opens. */
  readonly children: ReactNode
}

const HoldContext = createContext<(isHeld: boolean) => void>(() => {})

export interface DialogButtonsProps {
  /** What the second button says: the deed itself. */
  readonly action: string
  readonly onCancel: () => void
  /** Does it. Without it the button submits the form around. */
  readonly onAct?: () => void
  /** Keeps the dialog open while an answer is under way: what comes of it has to be seen. */
  readonly isPending: boolean
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}

/** The last row of a dialog: `Cancel`, and the deed. */
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

/** A window over the page. A click beside it does not close it: what was typed would be lost. */
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
        {/* A dialog has no banner. */}
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
