topic thread
title The main thread's loop is the main loop
slow 2
thread main:
ismain; sameloop main
spawn B
join B
thread B:
ismain; sameloop main
--- golden
ismain = yes
sameloop main = yes
B: ismain = no
B: sameloop main = no
end
