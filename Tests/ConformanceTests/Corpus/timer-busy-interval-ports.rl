topic timer
title With an always-due timer a port is still served
slow 2
timer T delay=0 interval=0.01 quiet
source1 P
source1 Q
on P: stop
at 60: write Q
at 120: write P
add P default; add Q default; add T default
run default 2 no
count P; count Q
--- golden
run default
source1 Q mode=default
source1 P mode=default
ran default STOPPED
count P = 1
count Q = 1
end
