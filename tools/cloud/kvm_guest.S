/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a virtual machine where a real kernel would take minutes to
 * boot, as with emulated virtualization.  This is the real-mode part of a
 * bzImage.  It prints the number of its vCPUs on the console and keeps each
 * vCPU busy, or lets them sleep with guest=idle on its command line.
 * See Documentation/arch/x86/boot.rst: the loader enters at 0x200 with all
 * segments at the first byte.
 */
#define SECTOR 0x200
#define SECTORS 8
/* QEMU puts the command line here. */
#define COMMAND_LINE_SEGMENT 0x2000
#define COMMAND_LINE_MOST 0x800
/* Other vCPUs start at a page, here the ninth sector. */
#define OTHERS 0x1000
#define SERIAL 0x3f8
/* Model-specific registers: the address and the features of the APIC. */
#define APIC_BASE 0x1b
#define X2APIC_ENABLED 0xc00
#define APIC_SPURIOUS 0x80f
#define APIC_COMMAND 0x830
/* Commands to all other vCPUs: reset, and start at the page. */
#define SEND_INIT 0xc4500
#define SEND_STARTUP 0xc4600
/* In cycles of the time-stamp counter, whatever its frequency is. */
#define RESET_CYCLES 50000000
#define START_CYCLES 2000000000
/* QEMU keeps the number of the other vCPUs in this byte of the CMOS memory. */
#define CMOS 0x70
#define CMOS_CPUS 0x5f

.macro	write_msr register, value
	movl	$\register, %ecx
	movl	$\value, %eax
	xorl	%edx, %edx
	wrmsr
.endm

	.code16
	.globl	_start
_start:
	.org	0x1f1
	.byte	SECTORS			/* besides the first */
	.org	0x1fe
	.word	0xaa55
	.org	SECTOR
	jmp	begin
	.ascii	"HdrS"
	.word	0x0202			/* version of the protocol */
	.org	0x211
	.byte	1			/* what follows is loaded high */
	.org	0x230

begin:	cli
	/* All segments are at _start. */
	movw	%ds, %ax
	shll	$4, %eax
	addl	$OTHERS, %eax
	shrl	$12, %eax
	andl	$0xff, %eax
	orl	$SEND_STARTUP, %eax
	movl	%eax, startup
	movl	$APIC_BASE, %ecx
	rdmsr
	orl	$X2APIC_ENABLED, %eax
	wrmsr
	write_msr APIC_SPURIOUS, 0x1ff
	call	look
	write_msr APIC_COMMAND, SEND_INIT
	movl	$RESET_CYCLES, %ebp
	movb	$0, %bl
	call	wait
	movl	$APIC_COMMAND, %ecx
	movl	startup, %eax
	xorl	%edx, %edx
	wrmsr
	movb	$CMOS_CPUS, %al
	outb	%al, $CMOS
	inb	$CMOS + 1, %al
	movb	%al, %bl
	incb	%bl
	movl	$START_CYCLES, %ebp
	call	wait
	movw	$hello, %si
	call	say
	movb	number, %al
	addb	$'0', %al
	movw	$SERIAL, %dx
	outb	%al, %dx
	movw	$vcpus, %si
	call	say
	movw	$busy, %si
	cmpb	$0, asleep
	je	1f
	movw	$idle, %si
1:	call	say
	movw	$end, %si
	call	say

work:	cmpb	$0, asleep
	jne	2f
1:	jmp	1b
2:	hlt
	jmp	2b

	/* Checks whether guest=i... is on the command line. */
look:	movw	$COMMAND_LINE_SEGMENT, %ax
	movw	%ax, %es
	xorw	%di, %di
1:	cmpl	$0x3d747365, %es:(%di)	/* est= */
	jne	2f
	cmpb	$'i', %es:4(%di)
	jne	2f
	movb	$1, asleep
	ret
2:	incw	%di
	cmpw	$COMMAND_LINE_MOST, %di
	jb	1b
	ret

	/*
	 * Waits for ebp cycles, but no longer than until bl vCPUs run.  A guest
	 * may run far slower than its CPU, so that a loop says nothing.
	 */
wait:	rdtsc
	movl	%eax, %esi
1:	cmpb	%bl, number
	je	2f
	rdtsc
	subl	%esi, %eax
	cmpl	%ebp, %eax
	jb	1b
2:	ret

say:	movw	$SERIAL, %dx
1:	lodsb
	testb	%al, %al
	jz	2f
	outb	%al, %dx
	jmp	1b
2:	ret

startup:
	.long	0
number:	.byte	1
asleep:	.byte	0
hello:	.asciz	"nova-rt guest: "
vcpus:	.asciz	" vCPUs "
busy:	.asciz	"busy"
idle:	.asciz	"idle"
end:	.asciz	"\r\n"

	.org	OTHERS
	cli
	movw	%cs, %ax
	subw	$OTHERS >> 4, %ax
	movw	%ax, %ds
	lock incb number
1:	cmpb	$0, asleep
	jne	2f
	jmp	1b
2:	hlt
	jmp	2b

	/* A kernel follows here, which is never entered. */
	.org	SECTOR * (1 + SECTORS) + SECTOR
