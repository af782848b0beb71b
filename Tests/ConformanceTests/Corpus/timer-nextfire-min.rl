topic timer
title The mode reports the earliest of its timers
flags timing
slow 2
quantum 500
timer A delay=2260
timer B delay=1260
timer C delay=760
add A default; add B default; add C m1
nextfire default; nextfire m1
remove B default
nextfire default
--- golden
nextfire default = 1000
nextfire m1 = 500
nextfire default = 2000
end
