topic timer
title A very short interval does not starve ports and source0
slow 2
trace callouts
timer T delay=0 interval=1 quiet
source1 P
source0 S
at 60: note go; signal S
on S: note source; write P
on P: note port; stop
add T default; add P default; add S default
run default 2 no
--- golden
run default
ext: note go
source0 S mode=default
note source
source1 P mode=default
note port
ran default STOPPED
end
